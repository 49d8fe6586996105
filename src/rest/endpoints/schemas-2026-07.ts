import { CONTAINER, OPTIONAL_CONTAINER, OPTIONAL_CONTAINER_WITH_DEFAULTS } from '../shared/container-schemas.ts';
import { byDefault, closed, dateTime, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { ENDPOINT_FIELDS } from './endpoint-schemas.ts';

const { name, dataCenterIds, networkVolumes, timeout, flashboot, pools, count, min, max } = ENDPOINT_FIELDS;
const type = stringEnum(['QUEUE_BASED', 'LOAD_BALANCING'], { description: 'Request routing; fixed at creation.' });

const gpu = closed({ pools, count: Type.Optional(count) });

const scalerType = stringEnum(['QUEUE_DELAY', 'REQUEST_COUNT'], {
  description: 'Scale on the seconds a request waits, or on the number of requests in flight.',
});
const scalerValue = Type.Number({ minimum: 0.5, format: 'float' });
const idleTimeout = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Seconds before an idle worker is scaled down.',
});

/** Defaults of a create, as shown in the description. */
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
          'Podyard only: a serverless template, own or public. Its container settings are copied once. The request’s values win; `env` is merged by name.',
      }),
    ),
  },
  {
    $id: 'CreateEndpointRequest',
    description: '`image` is required unless a template provides one.',
    if: { not: { required: ['templateId'] } },
    // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
    then: { required: ['image'] },
  },
);

/** No defaults at the top level: they would overwrite omitted fields. */
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
  { $id: 'UpdateEndpointRequest', description: 'Only the given fields change.' },
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
      closed({ run: url('Submits a job.'), runSync: url('Submits a job and waits for its result.') }),
      closed({ base: url('Base URL; paths are defined by the workers.') }),
    ]),
    gpu: Type.Union([Type.Object({ pools, count }), Type.Null()]),
    cpu: Type.Union([CpuConfiguration, Type.Null()], { description: 'CPU configuration of a CPU endpoint.' }),
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
