import type { UserId } from '../../core/ids.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import { listEndpointPages } from '../../domain/endpoints/endpoint-store.ts';
import { listEndpointStates } from '../../domain/endpoints/list-endpoint-states.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestDeps, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { EndpointList, EndpointQuery } from './endpoint-schemas.ts';
import type { EndpointWire } from './endpoint-wire.ts';
import { renderList } from './render-list.ts';
import { toStateResponse } from './state-schemas.ts';

export const listEndpointsRoute = (wire: EndpointWire): RestRoute => {
  const Item = { ...wire.Response };
  return (app, deps) => {
    app.get(
      '/v2/serverless',
      {
        schema: {
          operationId: 'listEndpoints',
          summary: 'List serverless endpoints',
          tags: ['serverless'],
          querystring: EndpointQuery,
          response: { 200: ref(EndpointList) },
        },
        config: { permission: PERMISSIONS.readEndpoint, failures: ['unprocessable'] },
      },
      async (request, reply) => {
        const bases = { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost };
        const serialize = reply.compileSerializationSchema(Item);
        const pages = listEndpointPages(deps.pool, request.actor.userId);
        const more = includes(request.query, 'STATE') ? { states: await readStates(deps, request.actor.userId) } : {};
        const render = (endpoint: Endpoint) => serialize(wire.toResponse(endpoint, bases) as Record<string, unknown>);
        const json = await renderList('endpoints', pages, render, more);
        return reply.type('application/json; charset=utf-8').send(json as never); // already rendered
      },
    );
  };
};

async function readStates({ pool, clock }: RestDeps, userId: UserId) {
  const states = await listEndpointStates(pool, { userId }, clock.now());
  return [...states].map(([id, state]) => ({ id, ...toStateResponse(state) }));
}
