import type { PodId } from '../../core/ids.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodAccess, PodParams } from './pod-schemas.ts';

export const getPodAccessRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/pods/:id/access',
    {
      schema: {
        operationId: 'getPodAccess',
        summary: 'Get who can reach the HTTP ports of a pod',
        description: 'Podyard only.',
        tags: ['pods', 'podyard'],
        params: PodParams,
        response: { 200: ref(PodAccess) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['notFound'] },
    },
    async (request) => {
      const { isPrivate } = await getPodRow(deps.pool, request.actor.userId, request.params.id as PodId);
      return { private: isPrivate };
    },
  );
};
