import { Failure } from '../../../core/errors.ts';
import type { RegistryAuth, WorkloadSpec } from '../../runtime.ts';
import { opaqueName, parseArgs, parsePort } from '../../workload-spec.ts';
import { affinityOf } from './pod-affinity.ts';
import { modelBytesOnDisk, modelContainer, modelMounts, modelVolumes, URL_KEY } from './pod-models.ts';
import { nameOf, type PodPlace } from './pod-place.ts';
import { ANNOTATIONS, CONTAINER, groupName, LABELS, memberHostname } from './pod-record.ts';

const MEBIBYTE = 2 ** 20;
const DEFAULT_SHM_BYTES = 1024 * MEBIBYTE;
/** How long a pod stays on a silent node, after the 40 s until the cluster notices. */
export const NODE_TIMEOUT_SECONDS = 15;
/** The same as in the docker runtime: ordinary images do not need them. */
const DROPPED_CAPABILITIES = ['MKNOD', 'NET_RAW', 'SETPCAP'];
/** Only the cluster knows which node it will be on (docs/interface/rest.md, "Pod environment"). */
const NODE_ADDRESS = { name: 'RUNPOD_PUBLIC_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } };
/** Its address in its group, which it has once it is on a node. */
const OWN_ADDRESS = { name: 'NODE_ADDR', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } };

/**
 * The variable by which NVIDIA's runtime decides what a container sees. The device plugin sets it for pods with GPUs, but a
 * value of the container's own would win over that, and where that runtime is the default, images ask for all GPUs.
 */
const GPU_VARIABLE = 'NVIDIA_VISIBLE_DEVICES';
const NO_GPUS = { name: GPU_VARIABLE, value: 'void' };

/** Returns the variables that are in no Secret. */
function environmentOf(spec: WorkloadSpec, { settings, gpuProducts }: PodPlace): { env?: object[] } {
  const env = [
    ...(needsAddress(spec) && settings.publicIp === null ? [NODE_ADDRESS] : []),
    ...(spec.group ? [OWN_ADDRESS] : []),
    ...(spec.gpu === null && gpuProducts !== null ? [NO_GPUS] : []),
  ];
  return env.length === 0 ? {} : { env };
}

/** Pods always had one; workers have one if they have ports to be reached at. */
function needsAddress({ kind, ports }: WorkloadSpec): boolean {
  return kind === 'pod' || ports.some((port) => port.endsWith('/tcp'));
}

function withoutGpuVariable(env: Readonly<Record<string, string>>): Record<string, string> {
  const { [GPU_VARIABLE]: _, ...others } = env;
  return others;
}

/** The name of a pod's Service. The cluster's DNS returns it for the Service's address, so it does not contain the id. */
export function serviceName(id: string, installation: string): string {
  return `podyard-${opaqueName(installation, id)}`;
}

export function registrySecretName(registryId: string): string {
  return `podyard-registry-${registryId}`.toLowerCase();
}

/** The pod of a workload. Its environment is in a Secret: permission to see pods must not reveal secrets. */
export function podManifest(spec: WorkloadSpec, place: PodPlace): object {
  const { settings } = place;
  const priorityClass = spec.isPriority ? settings.priorityClasses.priority : settings.priorityClasses.other;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: nameOf(spec.id),
      labels: {
        ...settings.podLabels,
        ...spec.metadata?.labels,
        ...labelsOf(spec.id, spec.kind, place.installation),
        ...setLabels(spec),
      },
      annotations: { ...settings.podAnnotations, ...spec.metadata?.annotations, ...annotationsOf(spec) },
    },
    spec: {
      restartPolicy: 'Never',
      hostname: spec.group ? memberHostname(spec.group.rank) : opaqueName(place.installation, spec.id),
      ...(spec.group && { subdomain: groupName(spec.group.id, place.installation) }),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 30,
      ...(settings.hasUserNamespaces && { hostUsers: false }),
      securityContext: {
        seccompProfile: { type: 'RuntimeDefault' },
        ...(settings.podSecurity === 'restricted' && { runAsNonRoot: true }),
      },
      nodeSelector: settings.nodeSelector,
      ...affinityOf(spec, place),
      ...spreadOf(spec),
      tolerations: [...settings.tolerations, ...nodeTolerations()],
      ...(priorityClass !== null && { priorityClassName: priorityClass }),
      ...(needsGpus(spec, place) && settings.gpuRuntimeClass && { runtimeClassName: settings.gpuRuntimeClass }),
      ...pullSecretsOf(spec, place),
      ...modelContainer(spec, place, resourcesOf({ ...spec, gpu: null }, place, isSimulated(spec, place))),
      containers: [containerOf(spec, place)],
      volumes: [
        // ML data loaders share memory, and crash with the container runtime's default of 64 MB. It counts towards memory.
        { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: String(shmBytes(spec)) } },
        ...spec.mounts.map(({ source }, index) => ({
          name: `mount-${index}`,
          persistentVolumeClaim: { claimName: source },
        })),
        ...modelVolumes(spec, place),
      ],
    },
  };
}

/** The user's own comes first; those of the operator are for the image that copies models. */
function pullSecretsOf({ registry, models }: WorkloadSpec, { settings }: PodPlace): object {
  const names = [...(registry ? [registrySecretName(registry.id)] : []), ...(models ? settings.pullSecrets : [])];
  return names.length === 0 ? {} : { imagePullSecrets: names.map((name) => ({ name })) };
}

function containerOf(spec: WorkloadSpec, place: PodPlace): object {
  const { settings } = place;
  const { entrypoint, cmd } = parseArgs(spec.args);
  return {
    name: CONTAINER,
    image: spec.image,
    ...(settings.pullPolicy && { imagePullPolicy: settings.pullPolicy }),
    ...(entrypoint && { command: entrypoint.map(literal) }),
    ...(cmd && { args: cmd.map(literal) }),
    envFrom: [{ secretRef: { name: nameOf(spec.id) } }],
    ...environmentOf(spec, place),
    ports: portsOf(spec),
    resources: resourcesOf(spec, place),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: settings.podSecurity === 'restricted' ? ['ALL'] : DROPPED_CAPABILITIES },
    },
    volumeMounts: [
      { name: 'shm', mountPath: '/dev/shm' },
      ...spec.mounts.map(({ target }, index) => ({ name: `mount-${index}`, mountPath: target })),
      ...modelMounts(spec),
    ],
  };
}

export function labelsOf(id: string, kind: string, installation: string): Record<string, string> {
  return {
    [LABELS.installation]: installation,
    [LABELS.id]: id,
    [LABELS.kind]: kind,
    'app.kubernetes.io/name': `podyard-${kind}`,
    'app.kubernetes.io/instance': installation,
    'app.kubernetes.io/managed-by': 'podyard',
  };
}

/** The labels of the set of pods that it belongs to. */
function setLabels({ group, endpointId }: WorkloadSpec): Record<string, string> {
  return { ...(group && { [LABELS.group]: group.id }), ...(endpointId && { [LABELS.endpoint]: endpointId }) };
}

/** Spreads the workers of an endpoint over nodes where there is a choice: a lost node then takes some of them, not all. */
function spreadOf({ endpointId }: WorkloadSpec): object {
  if (endpointId === undefined) return {};
  return {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { [LABELS.endpoint]: endpointId } },
      },
    ],
  };
}

function annotationsOf(spec: WorkloadSpec): Record<string, string> {
  return {
    ...(spec.gpu && { [ANNOTATIONS.gpu]: `${spec.gpu.pool}:${spec.gpu.count}` }),
    ...(spec.ports.length > 0 && { [ANNOTATIONS.ports]: spec.ports.join(',') }),
    ...(spec.cpus && { [ANNOTATIONS.cpus]: String(spec.cpus) }),
  };
}

/** Without these, the cluster leaves a pod on a silent node for five minutes. */
function nodeTolerations(): object[] {
  return ['not-ready', 'unreachable'].map((state) => ({
    key: `node.kubernetes.io/${state}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: NODE_TIMEOUT_SECONDS,
  }));
}

/**
 * Limits CPU, memory and disk, and requests the part of CPU and memory that the spec says: none with simulated GPUs, of which a
 * node may have more than it could hold. The disk is not requested: the limit is the most a workload may write, and few do.
 */
function resourcesOf(
  spec: WorkloadSpec,
  place: PodPlace,
  hasSimulatedGpus = isSimulated(spec, place),
): { limits: Record<string, string>; requests: Record<string, string> } {
  const requested = hasSimulatedGpus ? 0 : (spec.requestShare ?? 1);
  const modelBytes = modelBytesOnDisk(spec, place);
  const diskBytes = spec.diskGb * 2 ** 30 + modelBytes;
  const amounts = (share: number) => ({
    ...(spec.cpus && { cpu: `${Math.round(spec.cpus * share * 1000)}m` }),
    ...(spec.memoryBytes && { memory: String(Math.floor(spec.memoryBytes * share)) }),
    ...(needsGpus(spec, place) && { [place.settings.gpuResource]: String(spec.gpu!.count) }),
  });
  return {
    limits: { ...amounts(1), 'ephemeral-storage': modelBytes === 0 ? `${spec.diskGb}Gi` : String(diskBytes) },
    requests: { ...amounts(requested), 'ephemeral-storage': '0' },
  };
}

function needsGpus(spec: WorkloadSpec, { gpuProducts }: PodPlace): boolean {
  return spec.gpu !== null && gpuProducts !== null;
}

function isSimulated(spec: WorkloadSpec, place: PodPlace): boolean {
  return spec.gpu !== null && !needsGpus(spec, place);
}

function shmBytes({ memoryBytes }: WorkloadSpec): number {
  return memoryBytes ? Math.max(64 * MEBIBYTE, Math.floor(memoryBytes / 2)) : DEFAULT_SHM_BYTES;
}

function portsOf(spec: WorkloadSpec): object[] {
  const ports = new Set(spec.ports.map((port) => parsePort(port).private));
  return [...ports].map((containerPort) => ({ containerPort, protocol: 'TCP' }));
}

/** Escapes `$(NAME)`, which the cluster would substitute. */
function literal(word: string): string {
  return word.replaceAll('$', '$$$$');
}

/** Variable names that every version accepts; others would be dropped silently. */
const VARIABLE = /^[-._a-zA-Z][-._a-zA-Z0-9]{0,252}$/;

/** The workload's environment, owned by the pod and deleted with it. */
export function environmentSecret(spec: WorkloadSpec, installation: string, podUid: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: nameOf(spec.id),
      labels: labelsOf(spec.id, spec.kind, installation),
      ownerReferences: [ownerOf(spec.id, podUid)],
    },
    immutable: true, // spares the kubelet a watch on each
    stringData: { ...withoutGpuVariable(spec.env), ...(spec.models && { [URL_KEY]: spec.models.url }) },
  };
}

/** Throws a sentence for variable names that the cluster does not support. */
export function checkEnvironment(env: Readonly<Record<string, string>>): void {
  const invalid = Object.keys(env).find((name) => !VARIABLE.test(name));
  if (invalid === undefined) return;
  const rule = 'use letters, digits, dots, dashes and underscores, and do not begin with a digit';
  throw new Failure('unprocessable', `'${invalid}' is not a valid variable name in the cluster: ${rule}`);
}

export function ownerOf(id: string, podUid: string): object {
  return { apiVersion: 'v1', kind: 'Pod', name: nameOf(id), uid: podUid };
}

/** The credentials with which the kubelet pulls images. */
export function registrySecret(
  registryId: string,
  image: string,
  { username, password }: RegistryAuth,
  installation: string,
): object {
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    metadata: {
      name: registrySecretName(registryId),
      labels: {
        [LABELS.installation]: installation,
        [LABELS.kind]: 'registry',
        'app.kubernetes.io/managed-by': 'podyard',
      },
    },
    stringData: {
      '.dockerconfigjson': JSON.stringify({ auths: { [registryOf(image)]: { username, password, auth } } }),
    },
  };
}

/** The registry's name in such files: Docker Hub, which has one of its own, unless the image names a host. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return isHost && first !== 'docker.io' ? first : 'https://index.docker.io/v1/';
}
