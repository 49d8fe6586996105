import { MODEL_SOURCES } from '../../domain/models/pinned-model.ts';
import { MODEL_REQUEST } from '../models/model-schemas.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { closed, nullableInteger, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MACHINE_MODEL_STATES = ['STORED', 'FETCHING', 'FAILED'] as const;
const nullableTime = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description });

export const MachineModelResponse = Type.Object(
  {
    id: Type.String({ description: 'The same for everybody who uses these files.' }),
    source: stringEnum(MODEL_SOURCES),
    name: Type.String({ description: '`ORG/NAME` of a hub’s repository, or a URL.' }),
    commit: Type.String(),
    bytes: Type.Integer({ minimum: 0, description: 'Of all its files. Models may share files.' }),
    state: stringEnum(MACHINE_MODEL_STATES, {
      description:
        'STORED: whole. FETCHING: on its way. FAILED: it was to be fetched ahead, and `problem` says why not.',
    }),
    fetch: Type.Union(
      [
        Type.Object({
          bytes: Type.Integer({ minimum: 0, description: 'What has come, of `totalBytes`.' }),
          totalBytes: Type.Integer({
            minimum: 0,
            description: 'What was missing when the fetch began. 0: unknown yet.',
          }),
          bytesPerSecond: Type.Integer({ minimum: 0 }),
          secondsLeft: nullableInteger({ description: 'At this speed. Null: unknown.' }),
        }),
        Type.Null(),
      ],
      { description: 'How far the fetch is. Null: none runs.' },
    ),
    problem: nullableString({ description: 'Why fetching it ahead failed. Null: it did not.' }),
    pinned: Type.Boolean({ description: 'It does not leave to make room for others.' }),
    fetchedAt: nullableTime('Null: it is not whole yet.'),
    usedAt: nullableTime('When a worker last started with it, or when it was fetched. Null: it is not whole yet.'),
    inUse: Type.Boolean({ description: 'A worker uses it, so it cannot be removed.' }),
    endpoints: Type.Array(Type.Object({ id: Type.String(), name: Type.String() }), {
      description: 'Endpoints whose newest release has it: for admins all, for others their own.',
    }),
  },
  { $id: 'MachineModel', description: 'Podyard only: a model on the machine of the workers, or on its way there.' },
);

export const MachineModelListResponse = Type.Object(
  {
    models: Type.Array(ref(MachineModelResponse)),
    room: Type.Union(
      [
        Type.Object({
          budgetBytes: Type.Integer({ minimum: 0, description: 'What models may take of the machine’s disk.' }),
          usedBytes: Type.Integer({ minimum: 0, description: 'What they take; each file is counted once.' }),
          stuckBytes: Type.Integer({ minimum: 0, description: 'Of that, models that are pinned or that workers use.' }),
        }),
        Type.Null(),
      ],
      { description: 'Null: no machine stores models.' },
    ),
  },
  {
    $id: 'MachineModelList',
    description: 'Podyard only: models of the machine: those on their way, then the last one used first.',
  },
);

export const FetchMachineModelRequest = closed(
  {
    ...MODEL_REQUEST,
    pinned: Type.Optional(Type.Boolean({ description: 'Also pins it. False: it stays as it is.' })),
  },
  { $id: 'FetchMachineModelRequest' },
);

export const UpdateMachineModelRequest = closed(
  { pinned: Type.Boolean({ description: 'True: it does not leave to make room for others.' }) },
  { $id: 'UpdateMachineModelRequest' },
);

export const MachineModelParams = Type.Object({ id: Type.String({ description: 'Model identifier.' }) });

const model = {
  id: '3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea',
  source: 'HUB',
  name: 'Qwen/Qwen3-8B',
  commit: '9c925d64d72725edaf899c6cb9c377fd0709d9c5',
  bytes: 16_397_530_112,
  state: 'STORED',
  fetch: null,
  problem: null,
  pinned: true,
  fetchedAt: '2026-11-20T10:02:09.120Z',
  usedAt: '2026-11-21T08:40:00.000Z',
  inUse: true,
  endpoints: [{ id: 'e7k2m9x4c1v8bn', name: 'chat' }],
};

export const MACHINE_MODEL_SCHEMAS: NamedSchemas = [
  [MachineModelResponse, model],
  [
    MachineModelListResponse,
    {
      models: [model],
      room: { budgetBytes: 400_000_000_000, usedBytes: 16_397_530_112, stuckBytes: 16_397_530_112 },
    },
  ],
  [FetchMachineModelRequest, { source: 'hf:Qwen/Qwen3-8B@main', exclude: ['*.gguf'], tokenSecret: null, pinned: true }],
  [UpdateMachineModelRequest, { pinned: true }],
];
