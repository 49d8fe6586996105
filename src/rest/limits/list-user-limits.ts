import { checkOperator } from '../../domain/access/check-operator.ts';
import { listUserLimits } from '../../domain/quotas/user-limits.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UserLimitsList } from './limit-schemas.ts';
import { renderUserLimits } from './limit-wire.ts';

export const listUserLimitsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/users',
    {
      schema: {
        operationId: 'listUserLimits',
        summary: 'List users with their limits',
        description: 'Podyard only, for user `admin`. Returns what each user may have, and has.',
        tags: ['podyard'],
        response: { 200: ref(UserLimitsList) },
      },
      config: { permission: PERMISSIONS.readAccount },
    },
    async (request) => {
      await checkOperator(deps.pool, request.actor.userId);
      return { users: (await listUserLimits(deps.pool)).map(renderUserLimits) };
    },
  );
};
