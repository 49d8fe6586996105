import type { Static } from 'typebox';
import { CONTAINER, OPTIONAL_CONTAINER, OPTIONAL_CONTAINER_WITH_DEFAULTS } from '../shared/container-schemas.ts';
import { byDefault, closed, dateTime, MAX_INTEGER, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { ENDPOINT_FIELDS } from './endpoint-schemas.ts';

const { name, dataCenterIds, networkVolumes, timeout, flashboot, pools, count, min, max } = ENDPOINT_FIELDS;

const type = stringEnum(['QUEUE', 'LOAD_BALANCER'], { description: 'Request routing; fixed at creation.' });

/** Defaults of a create, as shown in the description. */
export const DEFAULTS_2026_08 = {
  gpuCount: 1,
  workers: { min: 0, max: 3, idleTimeout: 10 },
  timeout: 300_000,
  flashboot: 'OFF',
} as const;

const D = DEFAULTS_2026_08;
export const IDLE_TIMEOUT = { min: 1, max: 3600 };
export const SCALER_LIMITS = { minDelay: 0.5, minCount: 1, maxCount: Number.MAX_SAFE_INTEGER };

const CUDA_VERSION = '^\\d+\\.\\d+$';
const excludedTypes = Type.Array(Type.String(), {
  uniqueItems: true,
  description: 'GPU types of the pools that workers never get.',
});
const allowedCudaVersions = Type.Array(Type.String({ pattern: CUDA_VERSION }), {
  description: 'Workers run where the driver supports one of these CUDA versions. Not together with `minCudaVersion`.',
});
const minCudaVersion = Type.String({
  pattern: CUDA_VERSION,
  description: 'Workers run where the driver supports this CUDA version or a newer one.',
});

const newGpu = closed({
  pools,
  count: Type.Optional(count),
  excludedTypes: Type.Optional(excludedTypes),
  allowedCudaVersions: Type.Optional(allowedCudaVersions),
  minCudaVersion: Type.Optional(minCudaVersion),
});

const changedCount = Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description: 'GPUs per worker.' });
const changedGpu = closed(
  {
    pools: Type.Optional(pools),
    count: Type.Optional(changedCount),
    excludedTypes: Type.Optional(excludedTypes),
    allowedCudaVersions: Type.Optional(allowedCudaVersions),
    minCudaVersion: Type.Optional(
      Type.String({ pattern: `${CUDA_VERSION}|^$`, description: 'An empty text clears it.' }),
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

const cpuFields = {
  id: Type.String({ minLength: 1, description: 'CPU flavor.' }),
  vcpuCount: Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description: 'A power of two that the flavor has.' }),
};
const cpu = Type.Array(closed(cpuFields), {
  minItems: 1,
  uniqueItems: true,
  description: 'CPU flavors in order of preference; workers get the first for which there is capacity.',
});

interface QueueDelay {
  type: 'QUEUE_DELAY';
  queueDelay: number;
}
interface RequestCount {
  type: 'REQUEST_COUNT';
  requestCount: number;
}
const scaling = Type.Unsafe<QueueDelay | RequestCount>({
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

export const CreateEndpointRequest = closed(
  {
    name,
    type,
    scaling,
    gpu: Type.Optional(newGpu),
    cpu: Type.Optional(cpu),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER_WITH_DEFAULTS,
    workers: Type.Optional(
      closed({
        min: Type.Optional(byDefault(min, D.workers.min)),
        max: Type.Optional(byDefault(max, D.workers.max)),
        idleTimeout: Type.Optional(byDefault(idleTimeout, D.workers.idleTimeout)),
      }),
    ),
    dataCenterIds: Type.Optional(byDefault(dataCenterIds, [])),
    networkVolumes: Type.Optional(byDefault(networkVolumes, [])),
    timeout: Type.Optional(byDefault(timeout, D.timeout)),
    flashboot: Type.Optional(byDefault(flashboot, D.flashboot)),
    templateId: Type.Optional(
      Type.String({
        description:
          'A serverless template, own or public. Its container settings are copied once. The request’s values win; `env` is merged by name. Its CUDA versions count unless `gpu` has a rule.',
      }),
    ),
  },
  {
    $id: 'CreateEndpointRequest',
    description: 'Exactly one of `gpu` and `cpu` is required; `image` is, unless a template provides one.',
    // biome-ignore-start lint/suspicious/noThenProperty: the word of JSON Schema
    allOf: [
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
    ],
    // biome-ignore-end lint/suspicious/noThenProperty: the word of JSON Schema
  },
);

/** No defaults at the top level: they would overwrite omitted fields. */
export const UpdateEndpointRequest = closed(
  {
    name: Type.Optional(name),
    gpu: Type.Optional(changedGpu),
    cpu: Type.Optional(cpu),
    workers: Type.Optional(
      closed({ min: Type.Optional(min), max: Type.Optional(max), idleTimeout: Type.Optional(idleTimeout) }),
    ),
    scaling: Type.Optional(scaling),
    dataCenterIds: Type.Optional(dataCenterIds),
    networkVolumes: Type.Optional(networkVolumes),
    timeout: Type.Optional(timeout),
    flashboot: Type.Optional(flashboot),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER,
    templateId: Type.Optional(
      Type.String({
        description:
          'A serverless template, own or public. Its container settings are copied once; the request’s values win, and `env` is the template’s with the request’s.',
      }),
    ),
  },
  { $id: 'UpdateEndpointRequest', description: 'Only the given fields change. The family is fixed: `gpu` or `cpu`.' },
);

const url = (description: string) => Type.String({ format: 'uri', description });
const jobUrl = (description: string) => Type.String({ description: `${description} Replace \`{job_id}\`.` });

const requestUrls = Type.Union([
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

export const EndpointResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type,
    requestUrls,
    gpu: Type.Union([
      Type.Object({
        pools,
        count,
        // Without the rules of requests: other interfaces have fewer.
        excludedTypes: Type.Optional(Type.Array(Type.String())),
        allowedCudaVersions: Type.Array(Type.String()),
        minCudaVersion: nullableString(),
      }),
      Type.Null(),
    ]),
    cpu: Type.Optional(
      Type.Array(Type.Object({ ...cpuFields, memory: Type.Integer({ minimum: 1, description: 'GB.' }) }), {
        minItems: 1,
        description: 'Of CPU endpoints.',
      }),
    ),
    workers: closed({ min, max, idleTimeout: Type.Optional(idleTimeout) }),
    scaling,
    dataCenterIds,
    networkVolumes,
    timeout,
    flashboot,
    ...CONTAINER,
    createdAt: dateTime(),
  },
  { $id: 'Endpoint', description: 'A serverless endpoint.' },
);

export type CreateBody = Static<typeof CreateEndpointRequest>;
export type UpdateBody = Static<typeof UpdateEndpointRequest>;
export type EndpointAnswer = Static<typeof EndpointResponse>;
