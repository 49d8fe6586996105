import type { UserId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { resumeUser } from '../../domain/users/change-user.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UserAccountResponse } from './user-schemas.ts';
import { renderUserAccount } from './user-wire.ts';

export const resumeUserRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/account/users/:id/resume',
    {
      schema: {
        operationId: 'resumeUser',
        summary: 'End a user’s suspension',
        description: 'Podyard only, for admins. Endpoints scale again; pods that were stopped stay stopped.',
        tags: ['podyard'],
        params: UserParams,
        response: { 200: ref(UserAccountResponse) },
      },
      config: { permission: PERMISSIONS.writeUsers, failures: ['notFound', 'conflict'] },
    },
    async ({ actor, params }) => {
      const id = params.id as UserId;
      await checkOperator(deps.pool, actor.userId);
      await change(deps, actor, resumeUser, { id });
      deps.logger.info({ userId: id, by: actor.userId }, 'user resumed');
      return renderUserAccount(await getUserAccount(deps.pool, id));
    },
  );
};
