import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { EndpointParams } from './endpoint-schemas.ts';
import type { EndpointWire } from './endpoint-wire.ts';

export const getEndpointRoute =
  (wire: EndpointWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/serverless/:id',
      {
        schema: {
          operationId: 'getEndpoint',
          summary: 'Get a serverless endpoint',
          tags: ['serverless'],
          params: EndpointParams,
          response: { 200: wire.Response },
        },
        config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
      },
      async (request) => {
        const endpoint = await getEndpointRow(deps.pool, request.actor.userId, request.params.id as EndpointId);
        return wire.toResponse(endpoint, { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost });
      },
    );
  };
