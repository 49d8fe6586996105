import { listClusters } from '../../domain/clusters/cluster-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ClusterList, ClusterQuery } from './cluster-schemas.ts';
import { toClusterResponse } from './cluster-wire.ts';

export const listClustersRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/clusters',
    {
      schema: {
        operationId: 'listClusters',
        summary: 'List clusters',
        tags: ['clusters'],
        querystring: ClusterQuery,
        response: { 200: ref(ClusterList) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['unprocessable'] },
    },
    async (request) => {
      const clusters = await listClusters(deps.pool, request.actor.userId);
      return { clusters: clusters.map((cluster) => toClusterResponse(cluster, request.query)) };
    },
  );
};
