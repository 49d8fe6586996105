import type { EndpointId, UserId } from '../../core/ids.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { deleteEndpoint } from '../../domain/endpoints/delete-endpoint.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import { getEndpointRow, listEndpointPages } from '../../domain/endpoints/endpoint-store.ts';
import { updateEndpoint } from '../../domain/endpoints/update-endpoint.ts';
import { withModels } from '../../domain/models/resolve-models.ts';
import { findBuiltInTemplate } from '../../domain/templates/built-in-templates.ts';
import type { Template } from '../../domain/templates/template.ts';
import { listTemplateRows } from '../../domain/templates/template-store.ts';
import { listWorkerIds } from '../../domain/workers/worker-store.ts';
import { toId } from '../container-wire.ts';
import { type EndpointInput, toEndpoint, toNewEndpoint, toReplacement } from '../endpoint-wire.ts';
import type { GraphqlCall, Resolvers } from '../graphql-call.ts';
import { readInput, readText } from '../inputs.ts';
import { toPodTemplate } from '../template-wire.ts';
import { readVolumes, toNetworkVolume } from './volume-resolvers.ts';

interface Shown {
  endpoint: Endpoint;
}

export const endpointResolvers: Resolvers = {
  User: {
    endpoints: (_: unknown, __: unknown, call) => {
      const { userId } = call.permit(PERMISSIONS.readEndpoint({}));
      return listEndpoints(call, userId);
    },
    endpoint: async (_: unknown, { id }: { id: string }, call) => {
      const { userId } = call.permit(PERMISSIONS.readEndpoint({ id }));
      return toEndpoint(await getEndpointRow(call.deps.pool, userId, id as EndpointId));
    },
  },
  Endpoint: {
    template: async ({ endpoint }: Shown, _: unknown, call) => {
      const { userId } = call.permit(PERMISSIONS.readTemplate(endpoint.templateId ? { id: endpoint.templateId } : {}));
      const templates = await call.share('templates by id', async () => {
        const rows = await listTemplateRows(call.deps.pool, userId);
        return new Map<string, Template>(rows.map((row) => [row.id, row]));
      });
      const id = endpoint.templateId ?? '';
      const template = templates.get(id) ?? findBuiltInTemplate(id);
      return template ? toPodTemplate(template) : null;
    },
    networkVolumeIds: async ({ endpoint }: Shown, _: unknown, call) => {
      const volumes = await volumesOf(endpoint, call);
      return volumes.map(({ id, dataCenterId }) => ({ networkVolumeId: id, dataCenterId }));
    },
    networkVolume: async ({ endpoint }: Shown, _: unknown, call) => {
      const [volume] = await volumesOf(endpoint, call);
      return volume ? toNetworkVolume(volume) : null;
    },
    pods: async ({ endpoint }: Shown, _: unknown, call) => {
      const workers = await call.share('workers', () => listWorkerIds(call.deps.pool, endpoint.userId));
      return call.list(workers.get(endpoint.id) ?? [], (id) => ({ id, desiredStatus: 'RUNNING' }));
    },
  },
  Mutation: {
    saveEndpoint: async (_: unknown, args: { input?: EndpointInput | null }, call) => {
      const input = readInput(args);
      const id = toId(input.id) as EndpointId | null;
      if (id === null) {
        const actor = call.permit(PERMISSIONS.writeEndpoint({}));
        const wanted = await withModels(call.deps, actor, null, toNewEndpoint(input));
        return toEndpoint(await change(call.deps, actor, createEndpoint, wanted));
      }
      const actor = call.permit(PERMISSIONS.writeEndpoint({ id }));
      const current = await getEndpointRow(call.deps.pool, actor.userId, id);
      const update = await withModels(call.deps, actor, current, toReplacement(input, current));
      return toEndpoint(await change(call.deps, actor, updateEndpoint, { id, update }));
    },
    deleteEndpoint: async (_: unknown, { id }: { id: string }, call) => {
      await change(call.deps, call.permit(PERMISSIONS.writeEndpoint({ id })), deleteEndpoint, { id: id as EndpointId });
      return null;
    },
    updateEndpointTemplate: async (
      _: unknown,
      args: { input?: { endpointId?: string | null; id?: string | null; templateId: string } | null },
      call,
    ) => {
      const { endpointId, id: sameId, templateId } = readInput(args);
      const id = readText(endpointId ?? sameId, 'endpointId');
      const actor = call.permit(PERMISSIONS.writeEndpoint({ id }));
      return toEndpoint(
        await change(call.deps, actor, updateEndpoint, { id: id as EndpointId, update: { template: { templateId } } }),
      );
    },
  },
};

/** Lists page by page, so that a long list does not block other requests. */
async function* listEndpoints(call: GraphqlCall, userId: UserId) {
  for await (const page of listEndpointPages(call.deps.pool, userId)) {
    yield* call.list(page, toEndpoint);
  }
}

async function volumesOf({ networkVolumeIds }: Endpoint, call: GraphqlCall) {
  if (networkVolumeIds.length === 0) return [];
  const volumes = await readVolumes(call);
  return networkVolumeIds.flatMap((id) => volumes.get(id) ?? []);
}
