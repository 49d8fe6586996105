import type { PodId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { setPodLifetime } from '../../domain/pods/set-pod-options.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { toLifetime, toLifetimeResponse } from './pod-lifetime-wire.ts';
import { PodLifetime, PodParams } from './pod-schemas.ts';

export const setPodLifetimeRoute: RestRoute = (app, deps) => {
  app.put(
    '/v2/pods/:id/lifetime',
    {
      schema: {
        operationId: 'setPodLifetime',
        summary: 'Set when a pod is stopped and terminated',
        description:
          'Podyard only. Both times are replaced, and the container stays. A pod that is locked is stopped when it is unlocked; one that does not run at its `stopAfter` keeps no time.',
        tags: ['pods', 'podyard'],
        params: PodParams,
        body: ref(PodLifetime),
        response: { 200: ref(PodLifetime) },
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound', 'conflict'] },
    },
    async (request) => {
      const lifetime = toLifetime(request.body, deps.clock.now());
      const id = request.params.id as PodId;
      return toLifetimeResponse(await change(deps, request.actor, setPodLifetime, { id, lifetime }));
    },
  );
};
