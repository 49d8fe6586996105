import type { UserId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { updateUser } from '../../domain/users/change-user.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UpdateUserRequest, UserAccountResponse } from './user-schemas.ts';
import { renderUserAccount } from './user-wire.ts';

export const updateUserRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/account/users/:id',
    {
      schema: {
        operationId: 'updateUser',
        summary: 'Change a user',
        description: 'Podyard only, for admins. The last active admin stays one: 409.',
        tags: ['podyard'],
        params: UserParams,
        body: ref(UpdateUserRequest),
        response: { 200: ref(UserAccountResponse) },
      },
      config: { permission: PERMISSIONS.writeUsers, failures: ['notFound', 'conflict'] },
    },
    async ({ actor, params, body }) => {
      const id = params.id as UserId;
      await checkOperator(deps.pool, actor.userId);
      const { role } = await change(deps, actor, updateUser, { id, changes: body });
      deps.logger.info({ userId: id, by: actor.userId, role }, 'user changed');
      return renderUserAccount(await getUserAccount(deps.pool, id));
    },
  );
};
