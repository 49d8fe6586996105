import type { ClusterId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { updateCluster } from '../../domain/clusters/change-cluster.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ClusterParams, ClusterResponse, UpdateClusterRequest } from './cluster-schemas.ts';
import { toClusterResponse } from './cluster-wire.ts';

export const updateClusterRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/clusters/:id',
    {
      schema: {
        operationId: 'updateCluster',
        summary: 'Rename a cluster',
        description: 'Nothing else of a cluster can change. Its pods keep their names.',
        tags: ['clusters'],
        params: ClusterParams,
        body: ref(UpdateClusterRequest),
        response: { 200: ref(ClusterResponse) },
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound'] },
    },
    async (request) => {
      const cluster = await change(deps, request.actor, updateCluster, {
        id: request.params.id as ClusterId,
        change: request.body,
      });
      return toClusterResponse(cluster);
    },
  );
};
