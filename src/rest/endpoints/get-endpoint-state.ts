import type { EndpointId } from '../../core/ids.ts';
import { getEndpointState } from '../../domain/endpoints/list-endpoint-states.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { EndpointParams } from './endpoint-schemas.ts';
import { EndpointStateResponse, toStateResponse } from './state-schemas.ts';

export const getEndpointStateRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/state',
    {
      schema: {
        operationId: 'getEndpointState',
        summary: 'Get the state of an endpoint',
        description: 'Podyard only. Returns whether the endpoint is well, and if not, since when and why.',
        tags: ['serverless', 'podyard'],
        params: EndpointParams,
        response: { 200: ref(EndpointStateResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const id = request.params.id as EndpointId;
      const state = await getEndpointState(deps.pool, request.actor.userId, id, deps.clock.now());
      return { id, ...toStateResponse(state) };
    },
  );
};
