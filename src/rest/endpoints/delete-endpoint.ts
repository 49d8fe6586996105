import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteEndpoint } from '../../domain/endpoints/delete-endpoint.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { EndpointParams } from './endpoint-schemas.ts';

export const deleteEndpointRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/serverless/:id',
    {
      schema: {
        operationId: 'deleteEndpoint',
        summary: 'Delete a serverless endpoint',
        description: 'Stops all its workers and cancels its queued and running jobs.',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteEndpoint, { id: request.params.id as EndpointId });
      return reply.code(204).send();
    },
  );
};
