import type { UserId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { getUserLimits } from '../../domain/quotas/user-limits.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UserLimitsResponse, UserParams } from './limit-schemas.ts';
import { renderUserLimits } from './limit-wire.ts';

export const getUserLimitsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/users/:id/limits',
    {
      schema: {
        operationId: 'getUserLimits',
        summary: 'Get a user’s limits',
        description: 'Podyard only, for admins. Returns what the user may have, and has.',
        tags: ['podyard'],
        params: UserParams,
        response: { 200: ref(UserLimitsResponse) },
      },
      config: { permission: PERMISSIONS.readUserLimits, failures: ['notFound'] },
    },
    async (request) => {
      await checkOperator(deps.pool, request.actor.userId);
      return renderUserLimits(await getUserLimits(deps.pool, request.params.id as UserId));
    },
  );
};
