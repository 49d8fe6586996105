import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreateEndpointRequest, EndpointResponse } from './endpoint-schemas.ts';
import { toEndpointResponse, toNewEndpoint } from './endpoint-wire.ts';

export const createEndpointRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/serverless',
    {
      schema: {
        operationId: 'createEndpoint',
        summary: 'Create a serverless endpoint',
        description: 'Workers start when there is work, or at once with `workers.min`.',
        tags: ['serverless'],
        body: ref(CreateEndpointRequest),
        response: { 201: ref(EndpointResponse) },
      },
      config: { permission: PERMISSIONS.writeEndpoint },
    },
    async (request, reply) => {
      const endpoint = await createEndpoint(deps, request.actor, toNewEndpoint(request.body));
      const bases = { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost };
      return reply.code(201).send(toEndpointResponse(endpoint, bases));
    },
  );
};
