import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import type { EndpointWire } from './endpoint-wire.ts';

export const createEndpointRoute =
  <Create>(wire: EndpointWire<Create>): RestRoute =>
  (app, deps) => {
    app.post(
      '/v2/serverless',
      {
        schema: {
          operationId: 'createEndpoint',
          summary: 'Create a serverless endpoint',
          description: 'Workers start when there is work, or at once with `workers.min`.',
          tags: ['serverless'],
          body: wire.CreateRequest,
          response: { 201: wire.Response },
        },
        config: { permission: PERMISSIONS.writeEndpoint, failures: wire.createFailures ?? [] },
      },
      async (request, reply) => {
        const input = wire.toNew(request.body as Create);
        const endpoint = await change(deps, request.actor, createEndpoint, input).catch(wire.refuse);
        const bases = { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost };
        return reply.code(201).send(wire.toResponse(endpoint, bases));
      },
    );
  };
