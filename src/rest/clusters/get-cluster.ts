import type { ClusterId } from '../../core/ids.ts';
import { getCluster } from '../../domain/clusters/cluster-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ClusterParams, ClusterQuery, ClusterResponse } from './cluster-schemas.ts';
import { toClusterResponse } from './cluster-wire.ts';

export const getClusterRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/clusters/:id',
    {
      schema: {
        operationId: 'getCluster',
        summary: 'Get a cluster',
        tags: ['clusters'],
        params: ClusterParams,
        querystring: ClusterQuery,
        response: { 200: ref(ClusterResponse) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['notFound', 'unprocessable'] },
    },
    async (request) => {
      const cluster = await getCluster(deps.pool, request.actor.userId, request.params.id as ClusterId);
      return toClusterResponse(cluster, request.query);
    },
  );
};
