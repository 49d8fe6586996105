import type { Static } from 'typebox';
import type { EndpointId } from '../../core/ids.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { checkPermission } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { deleteEndpoint } from '../../domain/endpoints/delete-endpoint.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import { getEndpointRow, listEndpointPages } from '../../domain/endpoints/endpoint-store.ts';
import { updateEndpoint } from '../../domain/endpoints/update-endpoint.ts';
import { withModels } from '../../domain/models/resolve-models.ts';
import { listTemplateRows } from '../../domain/templates/template-store.ts';
import { listWorkers } from '../../domain/workers/list-workers.ts';
import { listWorkerIds } from '../../domain/workers/worker-store.ts';
import { PERMISSIONS, type RestDeps } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import {
  EndpointCreateInput,
  EndpointUpdateInput,
  showEndpoint,
  toEndpointChange,
  toNewEndpoint,
  V1Endpoint,
  V1Endpoints,
} from './v1-endpoints.ts';
import { showWorker } from './v1-pods.ts';
import { flag, IdParams, UPDATES, type V1Route } from './v1-route.ts';
import { showTemplate } from './v1-templates.ts';

const tags = ['endpoints'];
const record = { 200: ref(V1Endpoint) };
const querystring = Type.Object({
  includeTemplate: flag('Adds `template`, if there is one of your own.'),
  includeWorkers: flag('Adds `workers`.'),
});

export const endpointRoutes: V1Route = (app, deps) => {
  app.get('/v1/endpoints', {
    schema: { operationId: 'ListEndpoints', tags, querystring, response: { 200: ref(V1Endpoints) } },
    config: { permission: PERMISSIONS.readEndpoint },
    handler: async ({ actor, query }) => {
      const shown: Static<typeof V1Endpoint>[] = [];
      for await (const page of listEndpointPages(deps.pool, actor.userId)) {
        shown.push(...(await show(deps, actor, page, query)));
      }
      return shown;
    },
  });
  app.post('/v1/endpoints', {
    schema: { operationId: 'CreateEndpoint', tags, body: ref(EndpointCreateInput), response: record },
    config: { permission: PERMISSIONS.writeEndpoint },
    handler: async ({ actor, body }) => {
      const wanted = await withModels(deps, actor, null, toNewEndpoint(body));
      return showEndpoint(await change(deps, actor, createEndpoint, wanted));
    },
  });
  app.get('/v1/endpoints/:id', {
    schema: { operationId: 'GetEndpoint', tags, params: IdParams, querystring, response: record },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async ({ actor, params, query }) => {
      const endpoint = await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId);
      return (await show(deps, actor, [endpoint], query))[0]!;
    },
  });
  for (const [method, suffix, operationId] of UPDATES) {
    app.route({
      method,
      url: `/v1/endpoints/:id${suffix}`,
      schema: {
        operationId: `${operationId}Endpoint`,
        tags,
        params: IdParams,
        body: ref(EndpointUpdateInput),
        response: record,
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
      handler: async ({ actor, params, body }) => {
        const id = (params as { id: string }).id as EndpointId;
        const before = await getEndpointRow(deps.pool, actor.userId, id);
        const given = toEndpointChange(body as Static<typeof EndpointUpdateInput>, before);
        const update = await withModels(deps, actor, before, given);
        return showEndpoint(await change(deps, actor, updateEndpoint, { id, update }));
      },
    });
  }
  app.delete('/v1/endpoints/:id', {
    schema: { operationId: 'DeleteEndpoint', tags, params: IdParams, response: { 204: noContent('Deleted.') } },
    config: { permission: PERMISSIONS.deleteEndpoint, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, deleteEndpoint, { id: params.id as EndpointId });
      return reply.code(204).send();
    },
  });
};

/** Returns endpoints with what the query includes. Throws `forbidden` for templates that the key may not read. */
async function show(
  deps: RestDeps,
  actor: Actor,
  endpoints: readonly Endpoint[],
  { includeTemplate, includeWorkers }: Static<typeof querystring>,
): Promise<Static<typeof V1Endpoint>[]> {
  if (includeTemplate) checkPermission(actor, PERMISSIONS.readTemplate({}));
  const templates = includeTemplate ? await listTemplateRows(deps.pool, actor.userId) : [];
  const live = includeWorkers ? await listWorkerIds(deps.pool, actor.userId) : new Map<EndpointId, unknown>();
  const shown: Static<typeof V1Endpoint>[] = [];
  for (const endpoint of endpoints) {
    const template = templates.find(({ id }) => id === endpoint.templateId);
    const workers = live.has(endpoint.id)
      ? (await listWorkers(deps.pool, actor.userId, endpoint.id, deps.clock.now())).workers
      : [];
    shown.push({
      ...showEndpoint(endpoint),
      ...(template && { template: showTemplate(template) }),
      ...(includeWorkers && { workers: workers.map((worker) => showWorker(worker, endpoint)) }),
    });
  }
  return shown;
}
