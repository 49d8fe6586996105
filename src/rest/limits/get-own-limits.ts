import { getUserLimits } from '../../domain/quotas/user-limits.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UserLimitsResponse } from './limit-schemas.ts';
import { renderUserLimits } from './limit-wire.ts';

export const getOwnLimitsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/limits',
    {
      schema: {
        operationId: 'getOwnLimits',
        summary: 'Get your limits',
        description: 'Podyard only. Returns what the account may have, and has.',
        tags: ['podyard'],
        response: { 200: ref(UserLimitsResponse) },
      },
      config: { permission: PERMISSIONS.readAccount, failures: ['notFound'] },
    },
    async (request) => renderUserLimits(await getUserLimits(deps.pool, request.actor.userId)),
  );
};
