import { listEndpointPages } from '../../domain/endpoints/endpoint-store.ts';
import { renderList } from '../shared/render-list.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { EndpointList, EndpointResponse } from './endpoint-schemas.ts';
import { toEndpointResponse } from './endpoint-wire.ts';

const Item = { ...ref(EndpointResponse) };

export const listEndpointsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless',
    {
      schema: {
        operationId: 'listEndpoints',
        summary: 'List serverless endpoints',
        tags: ['serverless'],
        response: { 200: ref(EndpointList) },
      },
      config: { permission: PERMISSIONS.readEndpoint },
    },
    async (request, reply) => {
      const bases = { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost };
      const serialize = reply.compileSerializationSchema(Item);
      const pages = listEndpointPages(deps.pool, request.actor.userId);
      const json = await renderList('endpoints', pages, (endpoint) => serialize(toEndpointResponse(endpoint, bases)));
      return reply.type('application/json; charset=utf-8').send(json as never); // already rendered
    },
  );
};
