import { listPodRows } from '../../domain/pods/pod-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodList } from './pod-schemas.ts';
import { readPodResponses } from './pod-wire.ts';

export const listPodsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/pods',
    {
      schema: {
        operationId: 'listPods',
        summary: 'List pods',
        tags: ['pods'],
        response: { 200: ref(PodList) },
      },
      config: { permission: PERMISSIONS.readPod },
    },
    async (request) => {
      const pods = await listPodRows(deps.pool, request.actor.userId);
      return { pods: await readPodResponses(deps, pods) };
    },
  );
};
