import { notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { findUserRateLimit, updateUserRateLimit } from '../../domain/rate-limits/user-rate-limit.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UserRateLimit } from './user-schemas.ts';
import { renderRateLimit, toRateLimit } from './user-wire.ts';

const PATH = '/v2/account/users/:id/rate-limit';

export const userRateLimitRoutes: RestRoute = (app, deps) => {
  app.get(PATH, {
    schema: {
      operationId: 'getUserRateLimit',
      summary: 'Get a user’s rate limit',
      description: 'Podyard only, for admins.',
      tags: ['podyard'],
      params: UserParams,
      response: { 200: ref(UserRateLimit) },
    },
    config: { permission: PERMISSIONS.readUsers, operator: 'readUsers', failures: ['notFound'] },
    handler: async ({ params }) => {
      return render(deps, params.id as UserId);
    },
  });

  app.put(PATH, {
    schema: {
      operationId: 'replaceUserRateLimit',
      summary: 'Replace a user’s rate limit',
      description: 'Podyard only, for admins. Applies within a second.',
      tags: ['podyard'],
      params: UserParams,
      body: ref(UserRateLimit),
      response: { 200: ref(UserRateLimit) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound'] },
    handler: async ({ actor, params, body }) => {
      await change(deps, actor, updateUserRateLimit, { userId: params.id as UserId, limit: toRateLimit(body) });
      return render(deps, params.id as UserId);
    },
  });
};

async function render({ pool }: RouteDeps, id: UserId) {
  const limit = await findUserRateLimit(pool, id);
  if (limit === undefined) throw notFound('User');
  return renderRateLimit(limit);
}
