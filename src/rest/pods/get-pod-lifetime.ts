import type { PodId } from '../../core/ids.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { toLifetimeResponse } from './pod-lifetime-wire.ts';
import { PodLifetime, PodParams } from './pod-schemas.ts';

export const getPodLifetimeRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/pods/:id/lifetime',
    {
      schema: {
        operationId: 'getPodLifetime',
        summary: 'Get when a pod is stopped and terminated',
        description: 'Podyard only.',
        tags: ['pods', 'podyard'],
        params: PodParams,
        response: { 200: ref(PodLifetime) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['notFound'] },
    },
    async (request) => toLifetimeResponse(await getPodRow(deps.pool, request.actor.userId, request.params.id as PodId)),
  );
};
