import type { UserId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { suspendUser } from '../../domain/users/change-user.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { SuspendUserRequest, UserAccountResponse } from './user-schemas.ts';
import { renderUserAccount } from './user-wire.ts';

export const suspendUserRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/account/users/:id/suspend',
    {
      schema: {
        operationId: 'suspendUser',
        summary: 'Suspend a user',
        description:
          'Podyard only, for admins. The user’s keys are refused with 403 at once, and what was opened with them ends. ' +
          'Jobs that were accepted run on, unless `workloads` is `STOP`. Suspending again changes reason and workloads.',
        tags: ['podyard'],
        params: UserParams,
        body: ref(SuspendUserRequest),
        response: { 200: ref(UserAccountResponse) },
      },
      config: { permission: PERMISSIONS.writeUsers, failures: ['notFound', 'conflict'] },
    },
    async ({ actor, params, body }) => {
      const id = params.id as UserId;
      await checkOperator(deps.pool, actor.userId);
      const { workloads = 'KEEP', reason = null } = body;
      await change(deps, actor, suspendUser, { id, workloads, reason });
      deps.logger.warn({ userId: id, by: actor.userId, workloads }, 'user suspended');
      return renderUserAccount(await getUserAccount(deps.pool, id));
    },
  );
};
