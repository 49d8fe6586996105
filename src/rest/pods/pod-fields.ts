import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { NewPod } from '../../domain/pods/create-pod.ts';
import { POD_ACTIONS, POD_STATUSES, type Pod, type PodGpu, type PodMounts } from '../../domain/pods/pod.ts';
import { directSsh } from '../../domain/pods/pod-ssh.ts';
import type { PodChange } from '../../domain/pods/update-pod.ts';
import { answerOf, changeOf, type FieldMap, HIDDEN, newOf } from '../../http/fields.ts';
import { ARGS_OR_COMMAND, CONTAINER, CONTAINER_FIELDS } from '../shared/container-fields.ts';
import { field, membersOf, required, shown } from '../shared/fields.ts';
import { LEAST_VCPUS, type LeastVcpus } from '../shared/least-vcpus.ts';
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
export const mounts = closed(
  {
    persistent: Type.Optional(persistent),
    network: Type.Optional(Type.Array(networkMount, { maxItems: 1, description: 'At most one volume.' })),
  },
  { description: 'At most one of `persistent` and `network`.' },
);
const locked = Type.Boolean({ description: 'A locked pod refuses `stop` and `restart`.' });
const cloud = stringEnum(['SECURE', 'COMMUNITY']);
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

const newCpu = (least: LeastVcpus) => ({ cpu: Type.Optional(closed({ id: cpuId, vcpuCount: vcpuCount(least) })) });
const newGpu = closed({ id: gpuId, count: Type.Optional(byDefault(gpuCount, 1)), ...gpuRule });
const shownGpu = Type.Object({ id: gpuId, count: gpuCount }, { description: 'GPU pods only.' });
const shownCpu = Type.Object(
  { id: cpuId, vcpuCount: vcpuCount(1), memory: Type.Integer({ minimum: 1, description: 'Memory in GB.' }) },
  { description: 'CPU pods only.' },
);
const shownNetwork = Type.Object(
  {
    enabled: Type.Boolean(),
    internalDns: Type.Optional(Type.String({ description: 'Name of the pod on that network. Only while enabled.' })),
  },
  { description: 'Stored but not implemented: pods cannot reach each other over it.' },
);
const shownCluster = Type.Object(
  {
    id: Type.String(),
    rank: Type.Integer({ minimum: 0 }),
    role: stringEnum(['PRIMARY', 'WORKER'], { description: 'The pod of rank 0 is the primary.' }),
    ip: nullableString({ description: 'Its address on the cluster’s network; null until known.' }),
  },
  {
    description: 'Pods of a cluster only. Such a pod cannot be changed or ended alone: its `actions` are empty.',
  },
);
const reason = nullableString({
  description:
    'Podyard only, with `include=REASON`: why it waits, failed or is started again, with the last lines of its output.',
});

type Mounts = Static<typeof mounts>;
interface CpuGiven {
  cpu?: { id: string; vcpuCount: number };
}

/** A pod with its live figures. */
export type ShownPod = Pod & { runtime: Static<typeof PodRuntime> | null };

const FIELDS = {
  id: shown('id', Type.String()),
  userId: HIDDEN,
  name: required('name', name),
  status: shown('status', stringEnum(POD_STATUSES)),
  statusReason: HIDDEN, // but with `include=REASON`: `reasonOf`
  actions: shown('actions', Type.Array(stringEnum(POD_ACTIONS), { description: 'Actions possible in this status.' })),
  ...CONTAINER_FIELDS,
  args: ARGS_OR_COMMAND,
  gpu: {
    create: { gpu: Type.Optional(newGpu) },
    answer: { gpu: Type.Optional(shownGpu) },
    toNew: (body: { gpu?: Static<typeof newGpu> }) => (body.gpu ? toGpu(body.gpu) : null),
    toAnswer: (gpu: PodGpu | null) => ({ ...(gpu && { gpu: { id: gpu.id, count: gpu.count } }) }),
  },
  cpu: {
    create: newCpu(LEAST_VCPUS['2026-08']),
    answer: { cpu: Type.Optional(shownCpu) },
    toNew: (body: CpuGiven) => body.cpu ?? null,
    toAnswer: (cpu: Pod['cpu']) => ({ ...(cpu && { cpu }) }),
  },
  mounts: {
    create: { mounts: Type.Optional(byDefault(mounts, {})) },
    update: { mounts: Type.Optional(mounts) },
    answer: { mounts },
    toNew: (body: { mounts?: Mounts }) => body.mounts && toMounts(body.mounts),
    toChange: (body: { mounts?: Mounts }) => body.mounts && toMountsChange(body.mounts),
    toAnswer: ({ persistent: own, network }: PodMounts) => ({
      mounts: {
        ...(own && { persistent: { size: own.sizeGb, path: own.path } }),
        ...(network && { network: [network] }),
      },
    }),
  },
  cloud: { ...field('cloud', cloud, 'SECURE'), update: {} },
  dataCenterIds: {
    create: {
      dataCenterIds: Type.Optional(
        byDefault(Type.Array(Type.String(), { description: 'Preferred first; empty for any.' }), []),
      ),
    },
    toNew: (body: { dataCenterIds?: string[] }) => body.dataCenterIds ?? [],
  },
  dataCenterId: shown('dataCenterId', nullableString()),
  /** Requests say `templateId`, as their last member. */
  templateId: {
    answer: { template: nullableString({ description: 'Template that it was created from.' }) },
    toNew: (body: { templateId?: string }) => body.templateId ?? null,
    toAnswer: (template: string | null) => ({ template }),
  },
  costPerHour: shown('cost', Type.Number({ minimum: 0, description: 'USD per hour; 0 while stopped.' })),
  isLocked: {
    update: { locked: Type.Optional(locked) },
    answer: { locked },
    toChange: (body: { locked?: boolean }) => body.locked,
    toAnswer: (value: boolean) => ({ locked: value }),
  },
  hasGlobalNetwork: {
    ...field('globalNetworking', Type.Boolean(), false),
    answer: { globalNetworking: shownNetwork },
    // No `ip`: pods cannot reach each other.
    toAnswer: (enabled: boolean, { id }: Pod) => ({
      globalNetworking: { enabled, ...(enabled && { internalDns: `${id}.runpod.internal` }) },
    }),
  },
  isPrivate: HIDDEN,
  startSsh: {
    create: { startSsh: Type.Optional(byDefault(startSsh, false)) },
    toNew: (body: { startSsh?: boolean }) => body.startSsh,
  },
  startJupyter: {
    create: { startJupyter: Type.Optional(byDefault(startJupyter, false)) },
    toNew: (body: { startJupyter?: boolean }) => body.startJupyter,
  },
  stopAt: HIDDEN,
  terminateAt: HIDDEN,
  runtime: shown('runtime', Type.Union([PodRuntime, Type.Null()], { description: 'Null unless RUNNING.' })),
  publishedPorts: HIDDEN,
  address: {
    answer: { ssh: PodSsh },
    toAnswer: (_: string | null, pod: Pod) => ({ ssh: { proxy: null, direct: directSsh(pod) } }),
  },
  cudaVersion: shown(
    'cudaVersion',
    nullableString({ description: 'CUDA version of the driver where it was placed. Null: not known, or no GPU.' }),
  ),
  createdAt: { answer: { createdAt: dateTime() }, toAnswer: (at: Date) => ({ createdAt: at.toISOString() }) },
  startedAt: {
    answer: { startedAt: nullableString({ format: 'date-time', description: 'Last start of its container.' }) },
    toAnswer: (at: Date | null) => ({ startedAt: at?.toISOString() ?? null }),
  },
  changedAt: HIDDEN,
  cluster: {
    answer: { cluster: Type.Optional(shownCluster) },
    toAnswer: (cluster: Pod['cluster']) => ({
      ...(cluster && {
        cluster: { ...cluster, role: cluster.rank === 0 ? ('PRIMARY' as const) : ('WORKER' as const) },
      }),
    }),
  },
} satisfies FieldMap<ShownPod, PodChange & { cpu: NewPod['cpu'] }>;

const templateId = (description: string) => ({ templateId: Type.Optional(Type.String({ description })) });

function createRequest<M extends Omit<typeof FIELDS, 'args'> & { args: typeof CONTAINER_FIELDS.args }>(fields: M) {
  return closed(
    {
      ...membersOf(fields, 'create', ['name', ...Object.keys(CONTAINER)]),
      ...templateId(
        'A template for pods, own or public. Its container settings, mount, `startSsh` and `startJupyter` are copied once. The request’s values win; `env` is merged by name.',
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

export const CreatePodRequest07 = createRequest({
  ...FIELDS,
  args: CONTAINER_FIELDS.args,
  cpu: { ...FIELDS.cpu, create: newCpu(LEAST_VCPUS['2026-07']) },
  startSsh: { ...FIELDS.startSsh, create: { startSsh: Type.Optional(byDefault(startSsh, true)) } },
});
export const CreatePodRequest08 = createRequest(FIELDS);
export type CreatePodRequest = Static<typeof CreatePodRequest08>;

/** No defaults at the top level: they would overwrite omitted fields. */
export const UpdatePodRequest = closed(
  {
    ...membersOf(FIELDS, 'update'),
    ...templateId(
      'A template for pods, own or public. Its container settings, `env` included, replace the pod’s; those in the request win, `env` by name. Mounts stay.',
    ),
  },
  { $id: 'UpdatePodRequest', description: 'Only the given fields change.' },
);

export const PodResponse = Type.Object(
  { ...membersOf(FIELDS, 'answer'), reason: Type.Optional(reason) },
  { $id: 'Pod', description: 'A container that runs until you stop it.' },
);

export const PodList = Type.Object(
  { pods: Type.Array(ref(PodResponse)) },
  { $id: 'PodList', description: 'The pods of the account, oldest first, without terminated ones.' },
);

/** Maps a create. Absent members are those that a template may provide. */
export function toNewPod(body: CreatePodRequest): Omit<NewPod, 'isPrivate'> {
  return newOf(FIELDS, body);
}

/** Maps the fields that are present. */
export function toPodChange(body: Static<typeof UpdatePodRequest>): PodChange {
  return { ...changeOf(FIELDS, body), ...(body.templateId !== undefined && { templateId: body.templateId }) };
}

export function toPodResponse(pod: ShownPod): Static<typeof PodResponse> {
  return answerOf(FIELDS, pod);
}

function toGpu({ count = 1, ...gpu }: Static<typeof newGpu>): PodGpu {
  if (gpu.allowedCudaVersions !== undefined && gpu.minCudaVersion !== undefined) {
    throw new Failure('badRequest', 'gpu.allowedCudaVersions, gpu.minCudaVersion: only one of them can be given');
  }
  return { ...gpu, count };
}

/** Maps the mounts of a create. */
export function toMounts({ persistent: own, network }: Mounts): PodMounts {
  return { persistent: own ? { sizeGb: own.size, path: own.path } : null, network: network?.[0] ?? null };
}

function toMountsChange(given: Mounts): NonNullable<PodChange['mounts']> {
  const { persistent: own, network } = toMounts(given);
  return { ...(own && { persistent: own }), ...(given.network && { network }) };
}
