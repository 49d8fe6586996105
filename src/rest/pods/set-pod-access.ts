import type { PodId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { setPodAccess } from '../../domain/pods/set-pod-options.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodAccess, PodParams } from './pod-schemas.ts';

export const setPodAccessRoute: RestRoute = (app, deps) => {
  app.put(
    '/v2/pods/:id/access',
    {
      schema: {
        operationId: 'setPodAccess',
        summary: 'Make the HTTP ports of a pod private or public',
        description:
          'Podyard only. Takes effect at once and keeps the container. When the pod becomes private, open connections of clients without a key are closed.',
        tags: ['pods', 'podyard'],
        params: PodParams,
        body: ref(PodAccess),
        response: { 200: ref(PodAccess) },
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound'] },
    },
    async (request) => {
      const { isPrivate } = await change(deps, request.actor, setPodAccess, {
        id: request.params.id as PodId,
        isPrivate: request.body.private,
      });
      return { private: isPrivate };
    },
  );
};
