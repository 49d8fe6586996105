import type { Static } from 'typebox';
import { POD_ACTIONS, POD_STATUSES } from '../../domain/pods/pod.ts';
import { commandMembers } from '../shared/command.ts';
import { CONTAINER, OPTIONAL_CONTAINER, OPTIONAL_CONTAINER_WITH_DEFAULTS } from '../shared/container-schemas.ts';
import { includeQuery } from '../shared/include-query.ts';
import type { LeastVcpus } from '../shared/least-vcpus.ts';
import {
  byDefault,
  CUDA_PATTERN,
  closed,
  dateTime,
  MAX_INTEGER,
  nullableInteger,
  nullableString,
  ref,
  stringEnum,
} from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const name = Type.String({ minLength: 1, description: 'Pod name.' });
const path = Type.String({ pattern: '^/', description: 'Mount path in the container.' });
const persistent = closed(
  { size: Type.Integer({ minimum: 10, maximum: MAX_INTEGER, description: 'Size in GB; it can only grow.' }), path },
  {
    description: 'Storage on the pod’s machine that survives restarts and is deleted with the pod. GPU pods only.',
  },
);
const networkMount = closed({
  volumeId: Type.String({ description: 'Network volume in the pod’s data center.' }),
  path,
});
export const podMounts = closed(
  {
    persistent: Type.Optional(persistent),
    network: Type.Optional(Type.Array(networkMount, { maxItems: 1, description: 'At most one volume.' })),
  },
  { description: 'At most one of `persistent` and `network`.' },
);
const locked = Type.Boolean({ description: 'A locked pod refuses `stop` and `restart`.' });
const cloud = stringEnum(['SECURE', 'COMMUNITY']);
const status = stringEnum(POD_STATUSES);
const action = stringEnum(POD_ACTIONS);
const gpuId = Type.String({ description: 'GPU type, as listed by `GET /v2/catalog/gpus`.' });
const gpuCount = Type.Integer({ minimum: 1, maximum: MAX_INTEGER });
const cudaVersion = Type.String({ pattern: CUDA_PATTERN });
const perGpu = (what: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_INTEGER,
      description: `${what} that the machine has at least, for each GPU asked for.`,
    }),
  );
const gpuRule = {
  allowedCudaVersions: Type.Optional(
    Type.Array(cudaVersion, {
      description:
        'Exactly these CUDA versions of the driver; empty: any. Not with `minCudaVersion`. Without both, the template’s count.',
    }),
  ),
  minCudaVersion: Type.Optional({ ...cudaVersion, description: 'At least this CUDA version of the driver.' }),
  minRamPerGpu: perGpu('GB of memory'),
  minVcpuCountPerGpu: perGpu('CPUs'),
};
const cpuId = Type.String({ minLength: 1, description: 'CPU flavor, as listed by `GET /v2/catalog/cpus`.' });
const vcpuCount = (minimum: LeastVcpus) =>
  Type.Integer({ minimum, maximum: MAX_INTEGER, description: 'A power of two within the range of the flavor.' });

const startSsh = Type.Boolean({
  description:
    'Passes the account’s SSH keys to the container as `PUBLIC_KEY`, with which images start their SSH server. Never returned.',
});
const startJupyter = Type.Boolean({
  description:
    'Passes a password to the container as `JUPYTER_PASSWORD`, unless `env` sets one, with which images start Jupyter. Never returned.',
});
const mounts = podMounts;

/** Defaults of a create besides the container's, as shown in the description. */
export const POD_DEFAULTS = { gpuCount: 1, cloud: 'SECURE', globalNetworking: false } as const;
const D = POD_DEFAULTS;

/** `sshByDefault`: what a pod whose request and template do not mention SSH gets; `hasCommand`: beside `args`. */
export function createPodRequest(sshByDefault: boolean, leastVcpus: LeastVcpus, hasCommand: boolean) {
  return closed(
    {
      name,
      image: Type.Optional(CONTAINER.image),
      ...OPTIONAL_CONTAINER_WITH_DEFAULTS,
      ...commandMembers(hasCommand),
      gpu: Type.Optional(closed({ id: gpuId, count: Type.Optional(byDefault(gpuCount, D.gpuCount)), ...gpuRule })),
      cpu: Type.Optional(closed({ id: cpuId, vcpuCount: vcpuCount(leastVcpus) })),
      mounts: Type.Optional(byDefault(mounts, {})),
      cloud: Type.Optional(byDefault(cloud, D.cloud)),
      dataCenterIds: Type.Optional(
        byDefault(Type.Array(Type.String(), { description: 'Preferred first; empty for any.' }), []),
      ),
      globalNetworking: Type.Optional(byDefault(Type.Boolean(), D.globalNetworking)),
      startSsh: Type.Optional(byDefault(startSsh, sshByDefault)),
      startJupyter: Type.Optional(byDefault(startJupyter, false)),
      templateId: Type.Optional(
        Type.String({
          description:
            'A template for pods, own or public. Its container settings, mount, `startSsh` and `startJupyter` are copied once. The request’s values win; `env` is merged by name.',
        }),
      ),
    },
    {
      $id: 'CreatePodRequest',
      description: 'Exactly one of `gpu` and `cpu` is required, and `image` unless a template provides one.',
      if: { not: { required: ['templateId'] } },
      // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
      then: { required: ['image'] },
    },
  );
}

export type CreatePodRequest = Static<ReturnType<typeof createPodRequest>>;

export const CreatePodQuery = Type.Object({
  private: Type.Optional(Type.Boolean({ description: 'Podyard only: its HTTP ports need a key of its owner.' })),
  stopAfter: Type.Optional(dateTime({ description: 'Podyard only: when it is stopped, in the future.' })),
  terminateAfter: Type.Optional(dateTime({ description: 'Podyard only: when it is terminated, in the future.' })),
});

/** No defaults at the top level: they would overwrite omitted fields. */
export const UpdatePodRequest = closed(
  {
    name: Type.Optional(name),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER,
    mounts: Type.Optional(mounts),
    locked: Type.Optional(locked),
    globalNetworking: Type.Optional(Type.Boolean()),
    templateId: Type.Optional(
      Type.String({
        description:
          'A template for pods, own or public. Its container settings, `env` included, replace the pod’s; those in the request win, `env` by name. Mounts stay.',
      }),
    ),
  },
  { $id: 'UpdatePodRequest', description: 'Only the given fields change.' },
);

export const PodActionRequest = closed({ action }, { $id: 'PodActionRequest' });

const util = Type.Number({ minimum: 0, maximum: 100, description: 'Utilization in percent.' });
const SshAccess = Type.Object({
  host: Type.String(),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  username: Type.String(),
  command: Type.String({ description: 'For a terminal.' }),
});

const PodSsh = Type.Object(
  {
    proxy: Type.Union([SshAccess, Type.Null()], { description: 'Always null: there is no SSH proxy.' }),
    direct: Type.Union([SshAccess, Type.Null()], {
      description: 'Null unless the pod runs and its port `22/tcp` is published.',
    }),
  },
  { description: 'How to reach the SSH server of the pod.' },
);

const PodRuntime = Type.Object(
  {
    uptime: Type.Integer({ minimum: 0, description: 'Seconds since the container started.' }),
    gpus: Type.Array(Type.Object({ util, memoryUtil: util })),
    cpu: Type.Object({ util }),
    memory: Type.Object({ util }),
    ports: Type.Array(
      Type.Object({
        private: Type.Integer(),
        public: nullableInteger({ description: 'Published port of the machine.' }),
        type: Type.String(),
        ip: nullableString(),
      }),
    ),
  },
  { description: 'Live figures.' },
);

export const PodResponse = Type.Object(
  {
    id: Type.String(),
    name,
    status,
    actions: Type.Array(action, { description: 'Actions possible in this status.' }),
    ...CONTAINER,
    gpu: Type.Optional(Type.Object({ id: gpuId, count: gpuCount }, { description: 'GPU pods only.' })),
    cpu: Type.Optional(
      Type.Object(
        { id: cpuId, vcpuCount: vcpuCount(1), memory: Type.Integer({ minimum: 1, description: 'Memory in GB.' }) },
        { description: 'CPU pods only.' },
      ),
    ),
    mounts,
    cloud,
    dataCenterId: nullableString(),
    template: nullableString({ description: 'Template that it was created from.' }),
    cost: Type.Number({ minimum: 0, description: 'USD per hour; 0 while stopped.' }),
    locked,
    globalNetworking: Type.Object(
      {
        enabled: Type.Boolean(),
        internalDns: Type.Optional(
          Type.String({ description: 'Name of the pod on that network. Only while enabled.' }),
        ),
      },
      {
        description: 'Stored but not implemented: pods cannot reach each other over it.',
      },
    ),
    runtime: Type.Union([PodRuntime, Type.Null()], { description: 'Null unless RUNNING.' }),
    ssh: PodSsh,
    cudaVersion: nullableString({
      description: 'CUDA version of the driver where it was placed. Null: not known, or no GPU.',
    }),
    createdAt: dateTime(),
    startedAt: nullableString({ format: 'date-time', description: 'Last start of its container.' }),
    cluster: Type.Optional(
      Type.Object(
        {
          id: Type.String(),
          rank: Type.Integer({ minimum: 0 }),
          role: stringEnum(['PRIMARY', 'WORKER'], { description: 'The pod of rank 0 is the primary.' }),
          ip: nullableString({ description: 'Its address on the cluster’s network; null until known.' }),
        },
        {
          description: 'Pods of a cluster only. Such a pod cannot be changed or ended alone: its `actions` are empty.',
        },
      ),
    ),
    reason: Type.Optional(
      nullableString({
        description:
          'Podyard only, with `include=REASON`: why it waits, failed or is started again, with the last lines of its output.',
      }),
    ),
  },
  { $id: 'Pod', description: 'A container that runs until you stop it.' },
);

export const PodList = Type.Object(
  { pods: Type.Array(ref(PodResponse)) },
  { $id: 'PodList', description: 'The pods of the account, oldest first, without terminated ones.' },
);

export const PodAccess = closed(
  {
    private: Type.Boolean({
      description:
        'HTTP ports need an API key of the owner that may read the pod: as a bearer token, as the password of Basic authentication, or in the header `X-Podyard-Key`. The pod does not see the key.',
    }),
  },
  { $id: 'PodAccess', description: 'Podyard only: who can reach the HTTP ports of a pod through the proxy.' },
);

const nullableTime = (description: string) => nullableString({ format: 'date-time', description });

export const PodLifetime = closed(
  {
    stopAfter: nullableTime('When the pod is stopped, in the future. Null: never.'),
    terminateAfter: nullableTime('When the pod is terminated, in the future. Null: never.'),
  },
  { $id: 'PodLifetime', description: 'Podyard only: when a pod is stopped and terminated without another request.' },
);

export const PodJupyter = Type.Object(
  {
    password: nullableString({
      description:
        'What `JUPYTER_PASSWORD` holds. Null: the pod starts no Jupyter, never started yet, or has its own in `env`.',
    }),
  },
  { $id: 'PodJupyter', description: 'Podyard only: how to sign in to the Jupyter of a pod.' },
);

export const PodQuery = includeQuery('`REASON`: adds why each pod waits or failed.');

export const PodListQuery = Type.Object({
  ...PodQuery.properties,
  includeClusterPods: Type.Optional(Type.Boolean({ description: 'Also lists the pods of clusters. Default: false.' })),
});

export const PodParams = Type.Object({ id: Type.String({ description: 'Pod identifier.' }) });
