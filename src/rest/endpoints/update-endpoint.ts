import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import { updateEndpoint } from '../../domain/endpoints/update-endpoint.ts';
import { EnvQuery, editEnv } from '../shared/env-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { EndpointParams } from './endpoint-schemas.ts';
import type { EndpointWire } from './endpoint-wire.ts';

export const updateEndpointRoute =
  <Update>(wire: EndpointWire<unknown, Update>): RestRoute =>
  (app, deps) => {
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
          querystring: EnvQuery,
          body: wire.UpdateRequest,
          response: { 200: wire.Response },
        },
        config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
      },
      async (request) => {
        const { actor, body, params, query } = request;
        const update = (before: Endpoint) => {
          const fields = editEnv(wire.toChange(body as Update, before), before, query);
          wire.checkChange?.(before, fields);
          return fields;
        };
        const input = { id: params.id as EndpointId, update };
        const endpoint = await change(deps, actor, updateEndpoint, input).catch(wire.refuse);
        return wire.toResponse(endpoint, { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost });
      },
    );
  };
