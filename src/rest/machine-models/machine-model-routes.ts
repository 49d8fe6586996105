import type { Static } from 'typebox';
import { isOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { listMachineModels, type MachineModel } from '../../domain/machine-models/machine-model-store.ts';
import { removeMachineModel } from '../../domain/machine-models/remove-machine-model.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { MachineModelListResponse, MachineModelParams, type MachineModelResponse } from './machine-model-schemas.ts';

export const listMachineModelsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/models',
    {
      schema: {
        operationId: 'listMachineModels',
        summary: 'List the stored models',
        description:
          'Podyard only. The models on the machine of the workers: for admins all, for others those of their own endpoints. Written down about every 30 seconds.',
        tags: ['podyard'],
        response: { 200: ref(MachineModelListResponse) },
      },
      config: { permission: () => PERMISSIONS.readEndpoint({}) },
    },
    async ({ actor }) => {
      const isAll = await isOperator(deps.pool, actor.userId, 'readAccounts');
      return { models: (await listMachineModels(deps.pool, isAll ? null : actor.userId)).map(toResponse) };
    },
  );
};

export const removeMachineModelRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/models/:id',
    {
      schema: {
        operationId: 'removeMachineModel',
        summary: 'Remove a stored model',
        description:
          'Podyard only, for admins. Frees its disk within moments; a start that needs it fetches it again. 400 while a worker uses it.',
        tags: ['podyard'],
        params: MachineModelParams,
        response: { 204: noContent('It is being removed.') },
      },
      config: { permission: PERMISSIONS.writeAccount, operator: 'writeInstallation', failures: ['notFound'] },
    },
    async ({ actor, params }, reply) => {
      await change(deps, actor, removeMachineModel, params);
      return reply.code(204).send();
    },
  );
};

function toResponse({ isHeld, fetchedAt, usedAt, ...model }: MachineModel): Static<typeof MachineModelResponse> {
  return { ...model, fetchedAt: fetchedAt.toISOString(), usedAt: usedAt.toISOString(), inUse: isHeld };
}
