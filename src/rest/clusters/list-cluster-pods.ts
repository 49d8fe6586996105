import type { ClusterId } from '../../core/ids.ts';
import { getClusterRow } from '../../domain/clusters/cluster-store.ts';
import { listClusterPodRows } from '../../domain/pods/pod-store.ts';
import { PodList } from '../pods/pod-fields.ts';
import { PodQuery } from '../pods/pod-schemas.ts';
import { type PodWire, readPodResponses, reasonOf } from '../pods/pod-wire.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ClusterParams } from './cluster-schemas.ts';

export const listClusterPodsRoute =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/clusters/:id/pods',
      {
        schema: {
          operationId: 'listClusterPods',
          summary: 'List the pods of a cluster',
          description: 'By rank.',
          tags: ['clusters'],
          params: ClusterParams,
          querystring: PodQuery,
          response: { 200: ref(PodList) },
        },
        config: { permission: PERMISSIONS.readPod, failures: ['notFound', 'unprocessable'] },
      },
      async (request) => {
        const { id } = await getClusterRow(deps.pool, request.actor.userId, request.params.id as ClusterId);
        const pods = await listClusterPodRows(deps.pool, request.actor.userId, id);
        const answers = await readPodResponses(deps, wire, pods);
        return { pods: answers.map((answer, n) => ({ ...answer, ...reasonOf(pods[n]!, request.query) })) };
      },
    );
  };
