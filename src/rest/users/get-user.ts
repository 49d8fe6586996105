import type { UserId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UserAccountResponse } from './user-schemas.ts';
import { renderUserAccount } from './user-wire.ts';

export const getUserRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/users/:id',
    {
      schema: {
        operationId: 'getUser',
        summary: 'Get a user',
        description: 'Podyard only, for admins. During a deletion, `removal` says what is left.',
        tags: ['podyard'],
        params: UserParams,
        response: { 200: ref(UserAccountResponse) },
      },
      config: { permission: PERMISSIONS.readUsers, failures: ['notFound'] },
    },
    async (request) => {
      await checkOperator(deps.pool, request.actor.userId);
      return renderUserAccount(await getUserAccount(deps.pool, request.params.id as UserId));
    },
  );
};
