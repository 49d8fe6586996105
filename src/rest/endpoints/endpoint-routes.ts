import type { EndpointId, UserId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { deleteEndpoint } from '../../domain/endpoints/delete-endpoint.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import { getEndpointVersion, listEndpointPages } from '../../domain/endpoints/endpoint-store.ts';
import { listEndpointStates } from '../../domain/endpoints/list-endpoint-states.ts';
import { updateEndpoint } from '../../domain/endpoints/update-endpoint.ts';
import { type ModelRequest, readModels } from '../../domain/models/resolve-models.ts';
import { EnvQuery, editEnv } from '../shared/env-query.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestDeps, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { EndpointList, EndpointParams, EndpointQuery } from './endpoint-schemas.ts';
import type { EndpointWire } from './endpoint-wire.ts';
import { LeaseQuery } from './lease-routes.ts';
import { toStateResponse } from './state-schemas.ts';

async function readStates({ pool, clock }: RestDeps, userId: UserId) {
  const states = await listEndpointStates(pool, { userId }, clock.now());
  return [...states].map(([id, state]) => ({ id, ...toStateResponse(state) }));
}

export const endpointRoutes =
  <Create, Update>(wire: EndpointWire<Create, Update>): RestRoute =>
  (app, deps) => {
    const Item = { ...wire.Response };
    app.get('/v2/serverless', {
      schema: {
        operationId: 'listEndpoints',
        summary: 'List serverless endpoints',
        tags: ['serverless'],
        querystring: EndpointQuery,
        response: { 200: ref(EndpointList) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['unprocessable'] },
      handler: async (request, reply) => {
        const bases = { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost };
        const serialize = reply.compileSerializationSchema(Item);
        const pages = listEndpointPages(deps.pool, request.actor.userId, request.query.limit);
        const more = includes(request.query, 'STATE') ? { states: await readStates(deps, request.actor.userId) } : {};
        const render = (endpoint: Endpoint) => serialize(wire.toResponse(endpoint, bases) as Record<string, unknown>);
        const json = await renderList('endpoints', pages, render, more);
        return reply.type('application/json; charset=utf-8').send(json as never); // already rendered
      },
    });

    app.post('/v2/serverless', {
      schema: {
        operationId: 'createEndpoint',
        summary: 'Create a serverless endpoint',
        description: 'Workers start when there is work, or at once with `workers.min`.',
        tags: ['serverless'],
        querystring: LeaseQuery,
        body: wire.CreateRequest,
        response: { 201: wire.Response },
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: [...(wire.createFailures ?? []), 'unavailable'] },
      handler: async (request, reply) => {
        const { actor, body, query } = request;
        const { models: wanted } = body as { models?: ModelRequest[] };
        const models = wanted === undefined ? {} : await readModels(deps, actor, wanted);
        const input = { ...wire.toNew(body as Create), ...models, ...query };
        const endpoint = await change(deps, actor, createEndpoint, input).catch(wire.refuse);
        const bases = { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost };
        return reply.code(201).send(wire.toResponse(endpoint, bases));
      },
    });

    app.get('/v2/serverless/:id', {
      schema: {
        operationId: 'getEndpoint',
        summary: 'Get a serverless endpoint',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 200: wire.Response },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
      handler: async (request) => {
        // Remembered, because a change often follows.
        const { endpoint } = await getEndpointVersion(deps.pool, request.actor.userId, request.params.id as EndpointId);
        return wire.toResponse(endpoint, { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost });
      },
    });

    app.patch('/v2/serverless/:id', {
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
      handler: async (request) => {
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
    });

    app.delete('/v2/serverless/:id', {
      schema: {
        operationId: 'deleteEndpoint',
        summary: 'Delete a serverless endpoint',
        description: 'Stops all its workers and cancels its queued and running jobs.',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.deleteEndpoint, failures: ['notFound'] },
      handler: async (request, reply) => {
        await change(deps, request.actor, deleteEndpoint, { id: request.params.id as EndpointId });
        return reply.code(204).send();
      },
    });
  };

/**
 * Renders a long list as the JSON `{"<name>":[…]}`, yielding to other requests between pages. Nothing is sent until all of
 * it is rendered, so that a failure still becomes an error response. `more`: further members of the object.
 */
async function renderList<T>(
  name: string,
  pages: AsyncIterable<readonly T[]>,
  render: (item: T) => string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Buffer> {
  const parts: Buffer[] = [Buffer.from(`{${JSON.stringify(name)}:[`)];
  let separator = '';
  for await (const page of pages) {
    if (page.length === 0) continue;
    parts.push(Buffer.from(separator + page.map(render).join()));
    separator = ',';
  }
  const members = Object.entries(more).map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`);
  parts.push(Buffer.from(`]${members.join('')}}`));
  return Buffer.concat(parts);
}
