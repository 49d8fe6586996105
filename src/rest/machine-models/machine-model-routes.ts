import type { Static } from 'typebox';
import { isOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import {
  fetchMachineModel,
  removeMachineModel,
  updateMachineModel,
} from '../../domain/machine-models/change-machine-models.ts';
import {
  findModelRoom,
  listMachineModels,
  type MachineModel,
} from '../../domain/machine-models/machine-model-store.ts';
import { resolveModels } from '../../domain/models/resolve-models.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  FetchMachineModelRequest,
  MachineModelListResponse,
  MachineModelParams,
  MachineModelResponse,
  UpdateMachineModelRequest,
} from './machine-model-schemas.ts';

export const machineModelRoutes: RestRoute = (app, deps) => {
  app.get('/v2/models', {
    schema: {
      operationId: 'listMachineModels',
      summary: 'List the stored models',
      description:
        'Podyard only. The models on the machine of the workers: for admins all, for others those of their own endpoints. Written down about every 30 seconds, and every second while one is fetched.',
      tags: ['podyard'],
      response: { 200: ref(MachineModelListResponse) },
    },
    config: { permission: () => PERMISSIONS.readEndpoint({}) },
    handler: async ({ actor }) => {
      const isAll = await isOperator(deps.pool, actor.userId, 'readAccounts');
      const [models, room] = await Promise.all([
        listMachineModels(deps.pool, isAll ? null : actor.userId),
        findModelRoom(deps.pool),
      ]);
      return { models: models.map(toResponse), room: room ?? null };
    },
  });

  app.post('/v2/models', {
    schema: {
      operationId: 'fetchMachineModel',
      summary: 'Fetch a model ahead',
      description:
        'Podyard only, for admins. Has a model fetched before a start needs it, on every machine that runs workers; one that is there stays. Removing it ends the fetch. 400 for one that is larger than the budget, or does not fit beside pinned ones; 503 if its origin does not answer.',
      tags: ['podyard'],
      body: ref(FetchMachineModelRequest),
      response: { 201: ref(MachineModelResponse) },
    },
    config: { permission: PERMISSIONS.writeAccount, operator: 'writeInstallation', failures: ['unavailable'] },
    handler: async ({ actor, body: { pinned = false, ...request } }, reply) => {
      const [model] = await resolveModels(deps, actor, [request], () => 'source');
      return reply
        .code(201)
        .send(toResponse(await change(deps, actor, fetchMachineModel, { model: model!, isKept: pinned })));
    },
  });

  app.patch('/v2/models/:id', {
    schema: {
      operationId: 'updateMachineModel',
      summary: 'Pin a model, or unpin it',
      description:
        'Podyard only, for admins. A pinned model does not leave to make room for others. 400 for one that does not fit beside those that are pinned.',
      tags: ['podyard'],
      params: MachineModelParams,
      body: ref(UpdateMachineModelRequest),
      response: { 200: ref(MachineModelResponse) },
    },
    config: { permission: PERMISSIONS.writeAccount, operator: 'writeInstallation', failures: ['notFound'] },
    handler: async ({ actor, params, body }) =>
      toResponse(await change(deps, actor, updateMachineModel, { id: params.id, isKept: body.pinned })),
  });

  app.delete('/v2/models/:id', {
    schema: {
      operationId: 'removeMachineModel',
      summary: 'Remove a stored model',
      description:
        'Podyard only, for admins. Frees its disk within moments, or ends its fetch; a start that needs it fetches it again. 400 while a worker uses it.',
      tags: ['podyard'],
      params: MachineModelParams,
      response: { 204: noContent('It is being removed.') },
    },
    config: { permission: PERMISSIONS.writeAccount, operator: 'writeInstallation', failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, removeMachineModel, params);
      return reply.code(204).send();
    },
  });
};

function toResponse(model: MachineModel): Static<typeof MachineModelResponse> {
  const { id, source, name, commit, bytes, fetchedAt, usedAt, problem, endpoints } = model;
  const state = fetchedAt !== null ? 'STORED' : problem !== null ? 'FAILED' : 'FETCHING';
  return {
    ...{ id, source, name, commit, bytes, state, problem, endpoints },
    fetch: state === 'FETCHING' ? fetchOf(model) : null,
    pinned: model.isKept,
    fetchedAt: fetchedAt?.toISOString() ?? null,
    usedAt: usedAt?.toISOString() ?? null,
    inUse: model.isHeld,
  };
}

function fetchOf({
  fetchedBytes: bytes,
  fetchTotalBytes: totalBytes,
  fetchBytesPerSecond: bytesPerSecond,
}: MachineModel) {
  const secondsLeft = bytesPerSecond > 0 ? Math.ceil((totalBytes - bytes) / bytesPerSecond) : null;
  return { bytes, totalBytes, bytesPerSecond, secondsLeft };
}
