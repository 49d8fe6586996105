import { Type } from 'typebox';
import { CONTAINER, OPTIONAL_CONTAINER, OPTIONAL_CONTAINER_WITH_DEFAULTS } from '../shared/container-schemas.ts';
import { byDefault, closed, dateTime, MAX_INTEGER, ref, stringEnum } from '../shared/schema.ts';

const name = Type.String({ minLength: 1, description: 'Endpoint name.' });
const dataCenterIds = Type.Array(Type.String(), {
  description: 'Preferred data centers; empty lets the scheduler choose.',
});
const networkVolumes = Type.Array(Type.String(), { description: 'Network volume identifiers.' });
const timeout = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Execution timeout per request in milliseconds; 0 for none.',
});
const flashboot = stringEnum(['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT']);
const type = stringEnum(['QUEUE_BASED', 'LOAD_BALANCING'], { description: 'Request routing; fixed at creation.' });

const pools = Type.Array(Type.String(), { minItems: 1, description: 'GPU pools; workers go where there is capacity.' });
const count = Type.Integer({ minimum: 1, maximum: MAX_INTEGER, default: 1, description: 'GPUs per worker.' });
const gpu = closed({ pools, count: Type.Optional(count) });

const min = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });
const max = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });
const scalerType = stringEnum(['QUEUE_DELAY', 'REQUEST_COUNT'], {
  description: 'Scale on the seconds a request waits, or on the number of requests in flight.',
});
const scalerValue = Type.Number({ minimum: 0.5, format: 'float' });
const idleTimeout = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Seconds before an idle worker is scaled down.',
});

/** What a create fills in. The description shows the same values. */
export const ENDPOINT_DEFAULTS = {
  type: 'QUEUE_BASED',
  gpuCount: 1,
  workers: { min: 0, max: 3 },
  scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
  timeout: 300_000,
  flashboot: 'OFF',
} as const;

const D = ENDPOINT_DEFAULTS;

export const CreateEndpointRequest = closed(
  {
    name,
    gpu,
    type: Type.Optional(byDefault(type, D.type)),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER_WITH_DEFAULTS,
    workers: Type.Optional(
      closed({
        min: Type.Optional(byDefault(min, D.workers.min)),
        max: Type.Optional(byDefault(max, D.workers.max)),
      }),
    ),
    scaling: Type.Optional(
      closed({
        type: Type.Optional(byDefault(scalerType, D.scaling.type)),
        value: Type.Optional(byDefault(scalerValue, D.scaling.value)),
        idleTimeout: Type.Optional(byDefault(idleTimeout, D.scaling.idleTimeout)),
      }),
    ),
    dataCenterIds: Type.Optional(byDefault(dataCenterIds, [])),
    networkVolumes: Type.Optional(byDefault(networkVolumes, [])),
    timeout: Type.Optional(byDefault(timeout, D.timeout)),
    flashboot: Type.Optional(byDefault(flashboot, D.flashboot)),
    templateId: Type.Optional(
      Type.String({
        description:
          'Podyard only: a serverless template, own or public. Its container settings are copied once; the request wins, `env` name by name.',
      }),
    ),
  },
  {
    $id: 'CreateEndpointRequest',
    description: 'There must be an `image`, unless a template brings one.',
    if: { not: { required: ['templateId'] } },
    // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
    then: { required: ['image'] },
  },
);

/** No defaults at its top level: they would change what the client left out. */
export const UpdateEndpointRequest = closed(
  {
    name: Type.Optional(name),
    gpu: Type.Optional(gpu),
    workers: Type.Optional(closed({ min: Type.Optional(min), max: Type.Optional(max) })),
    scaling: Type.Optional(
      closed({
        type: Type.Optional(scalerType),
        value: Type.Optional(scalerValue),
        idleTimeout: Type.Optional(idleTimeout),
      }),
    ),
    dataCenterIds: Type.Optional(dataCenterIds),
    networkVolumes: Type.Optional(networkVolumes),
    timeout: Type.Optional(timeout),
    flashboot: Type.Optional(flashboot),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER,
  },
  { $id: 'UpdateEndpointRequest', description: 'Only the fields that are present change.' },
);

const url = (description: string) => Type.String({ format: 'uri', description });

const CpuConfiguration = Type.Object({
  id: Type.String({ minLength: 1 }),
  vcpuCount: Type.Integer({ minimum: 2 }),
  memory: Type.Integer({ minimum: 1, description: 'GB.' }),
});

export const EndpointResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type,
    requestUrls: Type.Union([
      closed({ run: url('Submit a job, asynchronously.'), runSync: url('Submit a job and wait for it.') }),
      closed({ base: url('Base of the paths that the workers define.') }),
    ]),
    gpu: Type.Union([Type.Object({ pools, count }), Type.Null()]),
    cpu: Type.Union([CpuConfiguration, Type.Null()], { description: 'Present for CPU endpoints.' }),
    workers: Type.Object({ min, max }),
    scaling: Type.Object({ type: scalerType, value: scalerValue, idleTimeout }),
    dataCenterIds,
    networkVolumes,
    timeout,
    flashboot,
    ...CONTAINER,
    createdAt: dateTime(),
  },
  { $id: 'Endpoint', description: 'A serverless endpoint.' },
);

export const EndpointList = Type.Object(
  { endpoints: Type.Array(ref(EndpointResponse)) },
  { $id: 'EndpointList', description: 'The endpoints of the account, oldest first.' },
);

export const EndpointParams = Type.Object({ id: Type.String({ description: 'Endpoint identifier.' }) });
