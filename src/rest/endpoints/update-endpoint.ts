import type { EndpointId } from '../../core/ids.ts';
import { updateEndpoint } from '../../domain/endpoints/update-endpoint.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { EndpointParams, EndpointResponse, UpdateEndpointRequest } from './endpoint-schemas.ts';
import { toEndpointChange, toEndpointResponse } from './endpoint-wire.ts';

export const updateEndpointRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/serverless/:id',
    {
      schema: {
        operationId: 'updateEndpoint',
        summary: 'Update a serverless endpoint',
        description:
          'Only the given fields change. Changing container settings, `gpu` or `networkVolumes` creates a release, which rolls out as workers are replaced. `workers`, `scaling` and `timeout` take effect at once.',
        tags: ['serverless'],
        params: EndpointParams,
        body: ref(UpdateEndpointRequest),
        response: { 200: ref(EndpointResponse) },
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const change = toEndpointChange(request.body);
      const endpoint = await updateEndpoint(deps, request.actor, request.params.id as EndpointId, change);
      return toEndpointResponse(endpoint, { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost });
    },
  );
};
