import { change } from '../../domain/change.ts';
import { createCluster } from '../../domain/clusters/create-cluster.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ClusterResponse, CreateClusterRequest } from './cluster-schemas.ts';
import { toClusterResponse, toNewCluster } from './cluster-wire.ts';

export const createClusterRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/clusters',
    {
      schema: {
        operationId: 'createCluster',
        summary: 'Create a cluster',
        description:
          'The pods start once there is room for all of them at once, and wait until then. If they would not fit even alone, the response is a 400 whose detail begins with `There are no longer any instances available`.',
        tags: ['clusters'],
        body: ref(CreateClusterRequest),
        response: { 201: ref(ClusterResponse) },
      },
      config: { permission: PERMISSIONS.writePod },
    },
    async (request, reply) => {
      const cluster = await change(deps, request.actor, createCluster, toNewCluster(request.body));
      return reply.code(201).send(toClusterResponse(cluster));
    },
  );
};
