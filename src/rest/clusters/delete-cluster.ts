import type { ClusterId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteCluster } from '../../domain/clusters/change-cluster.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { ClusterParams } from './cluster-schemas.ts';

export const deleteClusterRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/clusters/:id',
    {
      schema: {
        operationId: 'deleteCluster',
        summary: 'Delete a cluster',
        description: 'Terminates all its pods with their persistent storage, and removes its network.',
        tags: ['clusters'],
        params: ClusterParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteCluster, { id: request.params.id as ClusterId });
      return reply.code(204).send();
    },
  );
};
