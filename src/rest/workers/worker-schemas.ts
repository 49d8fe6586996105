import { CONTAINER_EXAMPLE, type NamedSchemas } from '../shared/example-values.ts';
import { includeQuery } from '../shared/include-query.ts';
import { dateTime, nullableInteger, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const count = Type.Integer({ minimum: 0 });
const util = Type.Number({ minimum: 0, maximum: 100, description: 'Percent of what it may use.' });

const properties = {
  isStale: Type.Boolean({ description: 'True if it runs an older version than the newest.' }),
  version: nullableInteger(),
  image: nullableString(),
  gpuCount: count,
  gpuTypeId: nullableString(),
  dataCenterId: nullableString(),
  uptimeSeconds: nullableInteger(),
  startedAt: nullableString({ format: 'date-time' }),
};

const WorkerResponse = Type.Object(
  {
    id: Type.String(),
    status: stringEnum(['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'], {
      description: 'Busy, idle, starting, waiting for capacity, or failing.',
    }),
    ...properties,
    reason: nullableString({
      description: 'Podyard only: why it is throttled, unhealthy, not started yet, or gets no jobs.',
    }),
  },
  { $id: 'Worker' },
);

const timeline = Type.Array(
  Type.Object({
    stage: stringEnum(['capacity', 'pull', 'models', 'create', 'start', 'ready'], {
      description:
        'Waiting for capacity, pulling the image, fetching models, creating the container, starting it, loading the program. On Kubernetes models may be fetched twice: by the server, and later by the node.',
    }),
    from: dateTime(),
    to: nullableString({ format: 'date-time', description: 'Null while it lasts.' }),
    ms: nullableInteger(),
  }),
  { description: 'Stages of its start, in order.' },
);

export const WorkerUsage = Type.Object({
  cpu: Type.Object({ util }),
  memory: Type.Object({ util }),
  gpus: Type.Array(Type.Object({ util, memoryUtil: util })),
});

export const WorkerDetailResponse = Type.Object(
  {
    id: Type.String(),
    status: stringEnum(['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY', 'FROZEN', 'EXITED'], {
      description: 'As in the list of workers, or FROZEN or EXITED, which the list omits.',
    }),
    ...properties,
    reason: nullableString({
      description: 'Why it is throttled, unhealthy, not started yet, frozen, ended, or gets no jobs.',
    }),
    cpu: Type.Union([Type.Object({ id: Type.String(), vcpuCount: count, memory: count }), Type.Null()], {
      description: 'What a worker of a CPU endpoint got: flavor, vCPUs and GB.',
    }),
    decision: Type.String({ description: 'Why it was last started, thawed, frozen or stopped.' }),
    createdAt: dateTime(),
    frozenAt: nullableString({ format: 'date-time' }),
    frozenMemoryBytes: nullableInteger({ description: 'Memory that it held when last frozen.' }),
    endedAt: nullableString({ format: 'date-time' }),
    exitCode: nullableInteger(),
    timeline,
    usage: Type.Optional(
      Type.Union([WorkerUsage, Type.Null()], {
        description: 'With `include=USAGE`: what it uses now; null unless it runs.',
      }),
    ),
  },
  { $id: 'WorkerDetail', description: 'Podyard only: a live, frozen or ended worker.' },
);

export const EndedWorkerResponse = Type.Object(
  {
    id: Type.String(),
    status: stringEnum(['EXITED']),
    ...properties,
    reason: nullableString({
      description:
        'Why it ended; of a lost worker or a failed start with the last lines of its output, at most 8 and 2 KiB.',
    }),
    lost: Type.Boolean({ description: 'It ended unexpectedly, or could not be started.' }),
    createdAt: dateTime(),
    endedAt: dateTime(),
    exitCode: nullableInteger(),
  },
  { $id: 'EndedWorker', description: 'Podyard only: a worker that ended. `getWorkerLogs` has its log.' },
);

export const WorkerStartResponse = Type.Object(
  {
    workerId: Type.String(),
    version: Type.Integer(),
    createdAt: dateTime(),
    ready: Type.Boolean({ description: 'It became ready.' }),
    failed: Type.Boolean({ description: 'It ended before it was ready.' }),
    timeline,
  },
  { $id: 'WorkerStart', description: 'Podyard only: how a worker became ready, or how far it came.' },
);

export const WorkerQuery = includeQuery(
  '`ENDED`: adds the workers that ended within 24 hours, at most the last 100, as `ended`. `STARTS`: adds the last 20 starts, as `starts`.',
);

export const WorkerDetailQuery = includeQuery('`USAGE`: adds what the worker uses now, as `usage`.');

export const WorkerListResponse = Type.Object(
  {
    workers: Type.Array(ref(WorkerResponse)),
    summary: Type.Object({
      running: count,
      idle: count,
      initializing: count,
      throttled: count,
      unhealthy: count,
      total: count,
    }),
    endpointVersion: nullableInteger(),
    ended: Type.Optional(
      Type.Array(ref(EndedWorkerResponse), {
        description: 'Podyard only, with `include=ENDED`: the last one to end first.',
      }),
    ),
    starts: Type.Optional(
      Type.Array(ref(WorkerStartResponse), {
        description: 'Podyard only, with `include=STARTS`: of live and ended workers, the newest first.',
      }),
    ),
  },
  { $id: 'WorkerList', description: 'The live workers, oldest first, with counts by status.' },
);

export const WorkerParams = Type.Object({
  id: Type.String({ description: 'Endpoint identifier.' }),
  workerId: Type.String({ description: 'Worker identifier.' }),
});

const worker = {
  id: 'w9h3s6d1f8g2jk',
  status: 'RUNNING',
  isStale: false,
  version: 2,
  image: CONTAINER_EXAMPLE.image,
  gpuCount: 1,
  gpuTypeId: 'NVIDIA GeForce RTX 4090',
  dataCenterId: 'LOCAL-1',
  uptimeSeconds: 412,
  startedAt: '2026-11-20T10:02:11.000Z',
  reason: null,
};

const workerDetail = {
  ...worker,
  cpu: null,
  decision: 'a job waits and there is no worker',
  createdAt: '2026-11-20T10:02:09.120Z',
  frozenAt: null,
  frozenMemoryBytes: null,
  endedAt: null,
  exitCode: null,
  timeline: [
    { stage: 'capacity', from: '2026-11-20T10:02:09.120Z', to: '2026-11-20T10:02:09.131Z', ms: 11 },
    { stage: 'pull', from: '2026-11-20T10:02:09.131Z', to: '2026-11-20T10:02:10.702Z', ms: 1571 },
    { stage: 'create', from: '2026-11-20T10:02:10.702Z', to: '2026-11-20T10:02:10.761Z', ms: 59 },
    { stage: 'start', from: '2026-11-20T10:02:10.761Z', to: '2026-11-20T10:02:11.000Z', ms: 239 },
    { stage: 'ready', from: '2026-11-20T10:02:11.000Z', to: '2026-11-20T10:02:11.415Z', ms: 415 },
  ],
};

export const WORKER_SCHEMAS: NamedSchemas = [
  [WorkerResponse, worker],
  [
    WorkerListResponse,
    {
      workers: [worker],
      summary: { running: 1, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, total: 1 },
      endpointVersion: 2,
    },
  ],
  [WorkerDetailResponse, workerDetail],
  [
    WorkerStartResponse,
    {
      workerId: worker.id,
      version: 2,
      createdAt: workerDetail.createdAt,
      ready: true,
      failed: false,
      timeline: workerDetail.timeline,
    },
  ],
  [
    EndedWorkerResponse,
    {
      ...worker,
      id: 'w2k8f4h6d0s3ja',
      status: 'EXITED',
      uptimeSeconds: 3,
      reason:
        "it exited with code 1:\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'torch'",
      lost: true,
      createdAt: '2026-11-20T10:01:58.004Z',
      endedAt: '2026-11-20T10:02:03.730Z',
      exitCode: 1,
    },
  ],
];
