import { Type } from 'typebox';
import { POD_ACTIONS, POD_STATUSES } from '../../domain/pods/pod.ts';
import { CONTAINER, OPTIONAL_CONTAINER, OPTIONAL_CONTAINER_WITH_DEFAULTS } from '../shared/container-schemas.ts';
import {
  byDefault,
  closed,
  dateTime,
  MAX_INTEGER,
  nullableInteger,
  nullableString,
  ref,
  stringEnum,
} from '../shared/schema.ts';

const name = Type.String({ minLength: 1, description: 'Pod name.' });
const path = Type.String({ pattern: '^/', description: 'Where the container finds it.' });
const persistent = closed(
  { size: Type.Integer({ minimum: 10, maximum: MAX_INTEGER, description: 'GB; only grows.' }), path },
  {
    description: 'Storage on the pod’s own machine that outlives its containers and goes with the pod. GPU pods only.',
  },
);
const networkMount = closed({
  volumeId: Type.String({ description: 'A volume in the data center of the pod.' }),
  path,
});
const mounts = closed(
  {
    persistent: Type.Optional(persistent),
    network: Type.Optional(Type.Array(networkMount, { maxItems: 1, description: 'At most one volume.' })),
  },
  { description: 'At most one of the two kinds.' },
);
const locked = Type.Boolean({ description: 'Refuses `stop` and `restart`.' });
const cloud = stringEnum(['SECURE', 'COMMUNITY']);
const status = stringEnum(POD_STATUSES);
const action = stringEnum(POD_ACTIONS);
const gpuId = Type.String({ description: 'GPU type, as `GET /v2/catalog/gpus` names it.' });
const gpuCount = Type.Integer({ minimum: 1, maximum: MAX_INTEGER });
const cpuId = Type.String({ minLength: 1, description: 'CPU flavor, as `GET /v2/catalog/cpus` names it.' });
const vcpuCount = Type.Integer({
  minimum: 2,
  maximum: MAX_INTEGER,
  description: 'A power of two within the range of the flavor.',
});

/** What a create fills in beside the container's defaults. The description shows the same values. */
export const POD_DEFAULTS = { gpuCount: 1, cloud: 'SECURE', globalNetworking: false } as const;
const D = POD_DEFAULTS;

export const CreatePodRequest = closed(
  {
    name,
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER_WITH_DEFAULTS,
    gpu: Type.Optional(closed({ id: gpuId, count: Type.Optional(byDefault(gpuCount, D.gpuCount)) })),
    cpu: Type.Optional(closed({ id: cpuId, vcpuCount })),
    mounts: Type.Optional(byDefault(mounts, {})),
    cloud: Type.Optional(byDefault(cloud, D.cloud)),
    dataCenterIds: Type.Optional(
      byDefault(Type.Array(Type.String(), { description: 'Preferred first; empty for any.' }), []),
    ),
    globalNetworking: Type.Optional(byDefault(Type.Boolean(), D.globalNetworking)),
    templateId: Type.Optional(
      Type.String({
        description:
          'Podyard only: a template for pods, own or public. Its container settings and mount are copied once; the request wins, `env` name by name.',
      }),
    ),
  },
  {
    $id: 'CreatePodRequest',
    description: 'There must be exactly one of `gpu` and `cpu`, and an `image`, unless a template brings one.',
    if: { not: { required: ['templateId'] } },
    // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
    then: { required: ['image'] },
  },
);

/** No defaults at its top level: they would change what the client left out. */
export const UpdatePodRequest = closed(
  {
    name: Type.Optional(name),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER,
    mounts: Type.Optional(mounts),
    locked: Type.Optional(locked),
    globalNetworking: Type.Optional(Type.Boolean()),
  },
  { $id: 'UpdatePodRequest', description: 'Only the fields that are present change.' },
);

export const PodActionRequest = closed({ action }, { $id: 'PodActionRequest' });

const util = Type.Number({ minimum: 0, maximum: 100, description: 'Percent.' });
const PodRuntime = Type.Object(
  {
    uptime: Type.Integer({ minimum: 0, description: 'Seconds since the container started.' }),
    gpus: Type.Array(Type.Object({ util, memoryUtil: util })),
    cpu: Type.Object({ util }),
    memory: Type.Object({ util }),
    ports: Type.Array(
      Type.Object({
        private: Type.Integer(),
        public: nullableInteger({ description: 'Where the machine publishes it.' }),
        type: Type.String(),
        ip: nullableString(),
      }),
    ),
  },
  { description: 'As measured a moment ago.' },
);

export const PodResponse = Type.Object(
  {
    id: Type.String(),
    name,
    status,
    actions: Type.Array(action, { description: 'What can be done in this status.' }),
    ...CONTAINER,
    gpu: Type.Optional(Type.Object({ id: gpuId, count: gpuCount }, { description: 'GPU pods only.' })),
    cpu: Type.Optional(
      Type.Object(
        { id: cpuId, vcpuCount, memory: Type.Integer({ minimum: 1, description: 'GB.' }) },
        { description: 'CPU pods only.' },
      ),
    ),
    mounts,
    cloud,
    dataCenterId: nullableString(),
    template: nullableString({ description: 'What it was made from.' }),
    cost: Type.Number({ minimum: 0, description: 'USD an hour; 0 while it is stopped.' }),
    locked,
    globalNetworking: Type.Object(
      {
        enabled: Type.Boolean(),
        ip: nullableString(),
        internalDns: nullableString({ description: 'Its name on that network.' }),
      },
      {
        description:
          'Kept as it was asked for. Pods of one’s own cloud are kept apart, and do not reach each other by it.',
      },
    ),
    runtime: Type.Union([PodRuntime, Type.Null()], { description: 'Null unless it is RUNNING.' }),
    createdAt: dateTime(),
    startedAt: nullableString({ format: 'date-time', description: 'When its container last started.' }),
  },
  { $id: 'Pod', description: 'A container of one’s own that runs until it is stopped.' },
);

export const PodList = Type.Object(
  { pods: Type.Array(ref(PodResponse)) },
  { $id: 'PodList', description: 'The pods of the account, oldest first; terminated ones are gone.' },
);

export const PodParams = Type.Object({ id: Type.String({ description: 'Pod identifier.' }) });
