import type { UserId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { updateLimits } from '../../domain/quotas/update-limits.ts';
import { getUserLimits } from '../../domain/quotas/user-limits.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UpdateLimitsRequest, UserLimitsResponse, UserParams } from './limit-schemas.ts';
import { renderUserLimits } from './limit-wire.ts';

export const updateUserLimitsRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/account/users/:id/limits',
    {
      schema: {
        operationId: 'updateUserLimits',
        summary: 'Change a user’s limits',
        description:
          'Podyard only, for admins. Applies within seconds. A lower limit ends nothing that exists, except ' +
          'workers of an endpoint that alone has more than the user’s limit.',
        tags: ['podyard'],
        params: UserParams,
        body: ref(UpdateLimitsRequest),
        response: { 200: ref(UserLimitsResponse) },
      },
      config: { permission: PERMISSIONS.writeUserLimits, failures: ['notFound'] },
    },
    async (request) => {
      const id = request.params.id as UserId;
      await checkOperator(deps.pool, request.actor.userId);
      await change(deps, request.actor, updateLimits, { userId: id, changes: request.body });
      return renderUserLimits(await getUserLimits(deps.pool, id));
    },
  );
};
