import { UsageError } from '../../core/usage-error.ts';
import type { NewerSchemas, Schemas } from '../shared/api-types.ts';
import { anyNumber } from '../shared/options.ts';
import { ENV } from './env-options.ts';
import {
  choice,
  type Field,
  type FieldsOf,
  flag,
  NAME,
  NO_OPTION,
  numberFlag,
  preset,
  required,
  someOf,
  together,
  yesNo,
} from './field.ts';

const IMAGE = {
  name: NAME,
  image: flag('--image <reference>', 'container image'),
  args: flag('--args <text>', 'container arguments', { byDefault: "the image's" }),
  disk: numberFlag('--disk <gb>', 'container disk in GB', { byDefault: '20' }),
  ports: flag('--port <port/protocol...>', 'ports, e.g. 8000/http 22/tcp'),
  env: ENV,
};

const REGISTRY = 'saved credentials for a private image, by id or name';
const registry = flag('--registry <id>', REGISTRY, { inUpdate: `${REGISTRY}; '': none` });
const CONTAINER = {
  ...IMAGE,
  registry: { ...registry, read: (given) => registry.read(given) || (given.registry === '' ? null : undefined) },
} satisfies Record<string, Field<unknown>>;

const TEMPLATE = flag('--template <id>', 'template to copy container settings from, by id or name', {
  inUpdate: 'template whose container settings replace the pod’s, by id or name; the given ones win',
});

type CreateEndpoint = Schemas['CreateEndpointRequest'];
/** CPU flavors are in the body of the newer revision only (write-endpoint.ts). */
type WithCpu<Body> = Body & Pick<NewerSchemas['CreateEndpointRequest'], 'cpu'>;

const ENDPOINT = {
  ...CONTAINER,
  gpu: together(
    [
      flag('--pool <name...>', 'GPU pools, preferred first'),
      numberFlag('--gpu-count <number>', 'GPUs per worker', { byDefault: '1' }),
    ],
    ({ pool, gpuCount }: { pool?: string[]; gpuCount?: number }): CreateEndpoint['gpu'] | undefined => {
      if (gpuCount !== undefined && pool === undefined) {
        throw new UsageError('--gpu-count needs --pool: the two are one setting');
      }
      return pool && { pools: pool, ...(gpuCount !== undefined && { count: gpuCount }) };
    },
  ),
  cpu: together(
    [flag('--cpu <flavor:vcpus...>', 'CPU flavors instead of GPU pools, preferred first, e.g. cpu3c:4 cpu3g:2')],
    ({ cpu }: { cpu?: string[] }) => cpu?.map(readCpu),
  ),
  workers: together(
    [
      numberFlag('--workers-min <number>', 'minimum number of workers', { byDefault: '0' }),
      numberFlag('--workers-max <number>', 'maximum number of workers; 0 stops the endpoint', { byDefault: '3' }),
    ],
    ({ workersMin: min, workersMax: max }: { workersMin?: number; workersMax?: number }) => someOf({ min, max }),
  ),
  scaling: together(
    [
      choice('--scaler <type>', 'what to scale on', ['QUEUE_DELAY', 'REQUEST_COUNT'], { byDefault: 'QUEUE_DELAY' }),
      numberFlag('--scaler-value <number>', 'seconds in the queue, or requests per worker', {
        byDefault: '4',
        parse: anyNumber,
      }),
      numberFlag('--idle-timeout <seconds>', 'how long an idle worker stays up', { byDefault: '5' }),
    ],
    (given: { scaler?: 'QUEUE_DELAY' | 'REQUEST_COUNT'; scalerValue?: number; idleTimeout?: number }) =>
      someOf({ type: given.scaler, value: given.scalerValue, idleTimeout: given.idleTimeout }),
  ),
  dataCenterIds: flag('--data-center <id...>', 'data centers, preferred first', { byDefault: 'any' }),
  networkVolumes: flag('--volume <id...>', 'network volumes, by id or name'),
  timeout: numberFlag('--timeout <ms>', 'execution timeout of a job; 0: none', { byDefault: '300000' }),
  flashboot: choice(
    '--flashboot <mode>',
    'freeze idle workers instead of stopping them',
    ['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT'],
    { byDefault: 'OFF' },
  ),
};

export const CREATE_ENDPOINT = {
  ...ENDPOINT,
  type: choice('--type <kind>', 'how requests reach its workers', ['QUEUE_BASED', 'LOAD_BALANCING'], {
    byDefault: 'QUEUE_BASED',
  }),
  templateId: TEMPLATE,
  models: NO_OPTION, // --model, which an update takes too
} satisfies FieldsOf<WithCpu<CreateEndpoint>>;

export const UPDATE_ENDPOINT = ENDPOINT satisfies FieldsOf<WithCpu<Schemas['UpdateEndpointRequest']>>;

/** Parses `cpu3c:4`. */
function readCpu(text: string): { id: string; vcpuCount: number } {
  const [, id, vcpus = '2'] = /^([^:]+)(?::([0-9]{1,4}))?$/.exec(text) ?? [];
  if (id === undefined) throw new UsageError(`--cpu: '${text}' is not a flavor and its vCPUs, like cpu3c:4`);
  return { id, vcpuCount: Number(vcpus) };
}

interface MountOptions {
  persistent?: string;
  networkVolume?: string;
  /** Where an updated pod has its mounts, which stay there unless the options move them. */
  paths?: { persistent: string | undefined; network: string | undefined };
}

function readMounts({ persistent, networkVolume, paths }: MountOptions) {
  const [size, persistentPath = paths?.persistent ?? '/workspace'] = splitAtColon(persistent);
  const [volumeId, networkPath = paths?.network ?? '/workspace'] = splitAtColon(networkVolume);
  if (size !== undefined && !/^\d{1,12}$/.test(size)) {
    throw new UsageError(`--persistent has '${persistent}', but takes GB and a path, like 40 or 40:/data`);
  }
  return someOf({
    persistent: size === undefined ? undefined : { size: Number(size), path: persistentPath },
    network: volumeId ? [{ volumeId, path: networkPath }] : undefined,
  });
}

function splitAtColon(text: string | undefined): [before: string | undefined, after: string | undefined] {
  const at = text?.indexOf(':') ?? -1;
  return at < 0 ? [text, undefined] : [text!.slice(0, at), text!.slice(at + 1)];
}

const DEFAULT_PATH = '(default path: /workspace)';
const NETWORK_VOLUME = flag('--network-volume <id[:path]>', `network volume to mount, by id or name ${DEFAULT_PATH}`);

interface StartOptions {
  port?: string[];
  template?: string;
  ssh?: boolean;
  jupyter?: boolean;
}

/** Returns the given ports with those of SSH and Jupyter. A template's ports stay as they are. */
function readPorts({ port, template, ssh, jupyter }: StartOptions): string[] | undefined {
  if (port === undefined && template !== undefined) return undefined;
  const added = [...(ssh ? ['22/tcp'] : []), ...(jupyter ? ['8888/http'] : [])];
  return added.length === 0 ? port : [...new Set([...(port ?? []), ...added])];
}

export const CREATE_POD = {
  ...CONTAINER,
  ports: together([IMAGE.ports], readPorts),
  templateId: TEMPLATE,
  gpu: together(
    [
      flag('--gpu <id>', 'GPU type, as listed by `podyard catalog gpus`'),
      numberFlag('--gpu-count <number>', 'number of GPUs', { byDefault: '1' }),
    ],
    ({ gpu, gpuCount }: { gpu?: string; gpuCount?: number }) =>
      gpu ? { id: gpu, ...(gpuCount !== undefined && { count: gpuCount }) } : undefined,
  ),
  cpu: together(
    [
      flag('--cpu <id>', 'CPU flavor, as listed by `podyard catalog cpus`'),
      numberFlag('--vcpus <number>', 'number of vCPUs', { byDefault: '2' }),
    ],
    ({ cpu, vcpus = 2 }: { cpu?: string; vcpus?: number }) => (cpu ? { id: cpu, vcpuCount: vcpus } : undefined),
  ),
  dataCenterIds: flag('--data-center <id...>', 'data centers, preferred first', { byDefault: 'any' }),
  mounts: together(
    [flag('--persistent <gb[:path]>', `storage in GB that outlives the container ${DEFAULT_PATH}`), NETWORK_VOLUME],
    readMounts,
  ),
  startSsh: flag('--ssh', 'pass your SSH keys to the pod and publish port 22; the image must start an SSH server'),
  startJupyter: flag('--jupyter', 'pass a password to the pod and expose port 8888; the image must start Jupyter'),
  cloud: NO_OPTION,
  globalNetworking: NO_OPTION,
} satisfies FieldsOf<Schemas['CreatePodRequest']>;

export const UPDATE_POD = {
  ...CONTAINER,
  locked: together(
    [flag('--lock', 'refuse to stop and restart it'), flag('--unlock', 'allow to stop and restart it')],
    ({ lock, unlock }: { lock?: true; unlock?: true }) => {
      if (lock && unlock) throw new UsageError('--lock and --unlock exclude each other');
      return lock ?? (unlock ? false : undefined);
    },
  ),
  globalNetworking: yesNo(
    '--global-networking',
    'ask for the network of all pods; stored, without effect here',
    'leave it',
  ),
  mounts: together(
    [
      flag(
        '--persistent <gb[:path]>',
        'new size of its persistent storage, which can only grow, and where it is mounted',
      ),
      flag('--network-volume <id:path>', 'where its network volume is mounted; the volume cannot be replaced'),
    ],
    readMounts,
  ),
  templateId: TEMPLATE,
} satisfies FieldsOf<Schemas['UpdatePodRequest']>;

/** `--persistent ''` removes the storage from a template. */
export const TEMPLATE_FIELDS = {
  ...CONTAINER,
  serverless: yesNo('--serverless', 'a template for endpoints', 'a template for pods', { byDefault: 'for pods' }),
  public: yesNo('--public', 'let other users see and use it', 'keep it to yourself', { byDefault: 'no' }),
  category: choice('--category <hardware>', 'what it is for', ['CPU', 'NVIDIA', 'AMD'], { byDefault: 'NVIDIA' }),
  startSsh: yesNo('--ssh', 'pods made from it get the SSH keys of their account', 'pods made from it get no SSH keys'),
  startJupyter: yesNo(
    '--jupyter',
    'pods made from it get a password for Jupyter',
    'pods made from it get no password for Jupyter',
  ),
  allowedCudaVersions: together(
    [flag('--cuda <version...>', 'CUDA versions that it may run on, e.g. 12.8')],
    ({ cuda }: { cuda?: string[] }) => cuda?.filter((version) => version !== ''),
  ),
  mounts: together(
    [flag('--persistent <gb[:path]>', `storage of its pods that outlives the container ${DEFAULT_PATH}`)],
    ({ persistent }: { persistent?: string }) =>
      persistent === '' ? {} : readMounts(persistent === undefined ? {} : { persistent }),
  ),
} satisfies FieldsOf<Schemas['CreateTemplateRequest']> & FieldsOf<Schemas['UpdateTemplateRequest']>;

export const CREATE_CLUSTER = {
  ...IMAGE,
  compute: together(
    [
      required(flag('--gpu <id>', 'GPU type, as listed by `podyard catalog gpus`')),
      required(numberFlag('--pods <number>', 'number of pods, 2 to 250')),
      numberFlag('--gpu-count <number>', 'GPUs of each pod', { byDefault: '1' }),
    ],
    ({ gpu, pods, gpuCount = 1 }: { gpu: string; pods: number; gpuCount?: number }) => ({
      gpuTypeId: gpu,
      gpuCountPerPod: gpuCount,
      podCount: pods,
    }),
  ),
  type: preset(
    choice('--type <type>', 'what it is for; shown, nothing else', ['APPLICATION', 'TRAINING', 'SLURM', 'RAY']),
    'APPLICATION',
  ),
  templateId: TEMPLATE,
  dataCenterIds: flag('--data-center <id...>', 'preferred data centers'),
  mounts: together(
    [
      flag('--persistent <gb[:path]>', `storage of each pod in GB that outlives its container ${DEFAULT_PATH}`),
      NETWORK_VOLUME,
    ],
    readMounts,
  ),
  startSsh: flag('--ssh', 'pass your SSH keys to the pods'),
  startJupyter: flag('--jupyter', 'pass a password for Jupyter to the pods'),
} satisfies FieldsOf<Schemas['CreateClusterRequest']>;
