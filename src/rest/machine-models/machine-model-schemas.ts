import { MODEL_SOURCES } from '../../domain/models/pinned-model.ts';
import type { Examples } from '../shared/example-values.ts';
import { dateTime, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const MachineModelResponse = Type.Object(
  {
    id: Type.String({ description: 'The same for everybody who uses these files.' }),
    source: stringEnum(MODEL_SOURCES),
    name: Type.String({ description: '`ORG/NAME` of a hub’s repository, or a URL.' }),
    commit: Type.String(),
    bytes: Type.Integer({ minimum: 0, description: 'Of all its files. Models may share files.' }),
    fetchedAt: dateTime(),
    usedAt: dateTime({ description: 'When a worker last started with it.' }),
    inUse: Type.Boolean({ description: 'A worker uses it, so it cannot be removed.' }),
    endpoints: Type.Array(Type.Object({ id: Type.String(), name: Type.String() }), {
      description: 'Endpoints whose newest release has it: for admins all, for others their own.',
    }),
  },
  { $id: 'MachineModel', description: 'Podyard only: a model that is stored on the machine of the workers.' },
);

export const MachineModelListResponse = Type.Object(
  { models: Type.Array(ref(MachineModelResponse)) },
  { $id: 'MachineModelList', description: 'Podyard only: stored models, the last one used first.' },
);

export const MachineModelParams = Type.Object({ id: Type.String({ description: 'Model identifier.' }) });

const model = {
  id: '3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea',
  source: 'HUB',
  name: 'Qwen/Qwen3-8B',
  commit: '9c925d64d72725edaf899c6cb9c377fd0709d9c5',
  bytes: 16_397_530_112,
  fetchedAt: '2026-11-20T10:02:09.120Z',
  usedAt: '2026-11-21T08:40:00.000Z',
  inUse: true,
  endpoints: [{ id: 'e7k2m9x4c1v8bn', name: 'chat' }],
};

export const MACHINE_MODEL_EXAMPLES: Examples = { MachineModel: model, MachineModelList: { models: [model] } };
