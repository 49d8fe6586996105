import { listPodRows } from '../../domain/pods/pod-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodList } from './pod-fields.ts';
import { PodListQuery } from './pod-schemas.ts';
import { type PodWire, readPodResponses, reasonOf } from './pod-wire.ts';

export const listPodsRoute =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/pods',
      {
        schema: {
          operationId: 'listPods',
          summary: 'List pods',
          tags: ['pods'],
          querystring: PodListQuery,
          response: { 200: ref(PodList) },
        },
        config: { permission: PERMISSIONS.readPod, failures: ['unprocessable'] },
      },
      async (request) => {
        const of = request.query.includeClusterPods ? 'own-and-clusters' : 'own';
        const pods = await listPodRows(deps.pool, request.actor.userId, of);
        const answers = await readPodResponses(deps, wire, pods);
        return { pods: answers.map((answer, n) => ({ ...answer, ...reasonOf(pods[n]!, request.query) })) };
      },
    );
  };
