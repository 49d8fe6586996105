import { byDefault, CUDA_PATTERN, closed, MAX_INTEGER, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { GPU_COUNT, GPU_POOLS, url, WORKERS } from './endpoint-schemas.ts';

/** Parts of the schemas of endpoints in revision 2026-08; wire-2026-08.ts puts them together. */

export const IDLE_TIMEOUT = { min: 1, max: 3600, default: 10 };
export const SCALER_LIMITS = { minDelay: 0.5, minCount: 1, maxCount: Number.MAX_SAFE_INTEGER };

export const type = stringEnum(['QUEUE', 'LOAD_BALANCER'], { description: 'Request routing; fixed at creation.' });

const excludedTypes = Type.Array(Type.String(), {
  uniqueItems: true,
  description: 'GPU types of the pools that workers never get.',
});
const allowedCudaVersions = Type.Array(Type.String({ pattern: CUDA_PATTERN }), {
  description: 'Workers run where the driver supports one of these CUDA versions. Not together with `minCudaVersion`.',
});
const minCudaVersion = Type.String({
  pattern: CUDA_PATTERN,
  description: 'Workers run where the driver supports this CUDA version or a newer one.',
});

export const newGpu = closed({
  pools: GPU_POOLS,
  count: Type.Optional(GPU_COUNT),
  excludedTypes: Type.Optional(excludedTypes),
  allowedCudaVersions: Type.Optional(allowedCudaVersions),
  minCudaVersion: Type.Optional(minCudaVersion),
});

const changedCount = Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description: 'GPUs per worker.' });
export const changedGpu = closed(
  {
    pools: Type.Optional(GPU_POOLS),
    count: Type.Optional(changedCount),
    excludedTypes: Type.Optional(excludedTypes),
    allowedCudaVersions: Type.Optional(allowedCudaVersions),
    minCudaVersion: Type.Optional(
      Type.String({ pattern: `${CUDA_PATTERN}|^$`, description: 'An empty text clears it.' }),
    ),
  },
  {
    description:
      'Only the given members change. `pools` without `excludedTypes` clears these, `excludedTypes` needs `pools`, an empty list clears.',
    if: { required: ['excludedTypes'] },
    // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
    then: { required: ['pools'] },
  },
);

/** Without the rules of requests: other interfaces have fewer. */
export const shownGpu = Type.Object({
  pools: GPU_POOLS,
  count: GPU_COUNT,
  excludedTypes: Type.Optional(Type.Array(Type.String())),
  allowedCudaVersions: Type.Array(Type.String()),
  minCudaVersion: nullableString(),
});

const cpuFields = {
  id: Type.String({ minLength: 1, description: 'CPU flavor.' }),
  vcpuCount: Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description: 'A power of two that the flavor has.' }),
};
export const cpu = Type.Array(closed(cpuFields), {
  minItems: 1,
  uniqueItems: true,
  description: 'CPU flavors in order of preference; workers get the first for which there is capacity.',
});

export const shownCpu = Type.Array(
  Type.Object({ ...cpuFields, memory: Type.Integer({ minimum: 1, description: 'GB.' }) }),
  { minItems: 1, description: 'Of CPU endpoints.' },
);

interface QueueDelay {
  type: 'QUEUE_DELAY';
  queueDelay: number;
}
interface RequestCount {
  type: 'REQUEST_COUNT';
  requestCount: number;
}
export const scaling = Type.Unsafe<QueueDelay | RequestCount>({
  type: 'object',
  discriminator: { propertyName: 'type' },
  oneOf: [
    closed({
      type: stringEnum(['QUEUE_DELAY']),
      queueDelay: Type.Number({ minimum: SCALER_LIMITS.minDelay, description: 'Seconds that a request may wait.' }),
    }),
    closed({
      type: stringEnum(['REQUEST_COUNT']),
      requestCount: Type.Integer({
        minimum: SCALER_LIMITS.minCount,
        maximum: SCALER_LIMITS.maxCount,
        description: 'Requests in progress per worker.',
      }),
    }),
  ],
  description: 'Always given as a whole. QUEUE_DELAY is for queues only.',
});

const idleTimeout = Type.Integer({
  minimum: IDLE_TIMEOUT.min,
  maximum: IDLE_TIMEOUT.max,
  description: 'Seconds before an idle worker is scaled down. Not for a QUEUE that scales on REQUEST_COUNT.',
});

export const newWorkers = closed({
  min: Type.Optional(byDefault(WORKERS, 0)),
  max: Type.Optional(byDefault(WORKERS, 3)),
  idleTimeout: Type.Optional(byDefault(idleTimeout, IDLE_TIMEOUT.default)),
});
export const changedWorkers = closed({
  min: Type.Optional(WORKERS),
  max: Type.Optional(WORKERS),
  idleTimeout: Type.Optional(idleTimeout),
});
export const shownWorkers = closed({ min: WORKERS, max: WORKERS, idleTimeout: Type.Optional(idleTimeout) });

/** For objects alone: what is none has its error already. */
const isOf = (endpointType: string, scaler: object) => ({
  type: 'object',
  required: ['type', 'scaling'],
  properties: {
    type: { enum: [endpointType] },
    scaling: { type: 'object', properties: scaler },
    workers: { type: 'object' },
  },
});
/** A failure of it is answered with its description. */
const mustBeAbsent = (description: string) => ({ not: {}, description });

/** How the members of a create depend on each other. */
// biome-ignore-start lint/suspicious/noThenProperty: the word of JSON Schema
export const CREATE_RULES = [
  { if: { not: { required: ['templateId'] } }, then: { required: ['image'] } },
  {
    if: isOf('LOAD_BALANCER', {}),
    then: { properties: { scaling: { type: 'object', properties: { type: { enum: ['REQUEST_COUNT'] } } } } },
  },
  {
    if: isOf('QUEUE', { type: { enum: ['REQUEST_COUNT'] } }),
    then: {
      properties: {
        workers: {
          type: 'object',
          properties: {
            idleTimeout: mustBeAbsent('must be left out: a QUEUE that scales on REQUEST_COUNT has no idle timeout'),
          },
        },
      },
    },
  },
];
// biome-ignore-end lint/suspicious/noThenProperty: the word of JSON Schema

const jobUrl = (description: string) => Type.String({ description: `${description} Replace \`{job_id}\`.` });

export const requestUrls = Type.Union([
  closed({
    run: url('Submits a job.'),
    runSync: url('Submits a job and waits for its result.'),
    status: jobUrl('Shows a job.'),
    stream: jobUrl('Reads the chunks that a job streams.'),
    cancel: jobUrl('Cancels a job.'),
    retry: jobUrl('Runs a failed job again.'),
    purgeQueue: url('Removes the jobs that wait.'),
    health: url('Counts jobs and workers.'),
  }),
  closed({
    base: url('Base URL; paths are defined by the workers.'),
    health: Type.String({ description: 'What a worker answers when it is healthy.' }),
  }),
]);
