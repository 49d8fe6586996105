import { setTimeout as sleep } from 'node:timers/promises';
import type { PerGpuSettings } from '../../config/gpu-share-settings.ts';
import { Failure, type FailureKind } from '../../core/errors.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { readPublicKeys } from '../../domain/access/public-keys.ts';
import { KEY_VARIABLE, renewPodKey } from '../../domain/access/workload-keys.ts';
import { markOnNetwork } from '../../domain/clusters/cluster-lifecycle.ts';
import { hasOwnPassword, makeJupyterPassword } from '../../domain/pods/jupyter-password.ts';
import type { PodGpu } from '../../domain/pods/pod.ts';
import {
  type ClusterPlace,
  type ControlledPod,
  markPodPhase,
  markPodRunning,
  markPodWaiting,
  placeReason,
} from '../../domain/pods/pod-lifecycle.ts';
import { resolveSecrets } from '../../domain/secrets/resolve-secrets.ts';
import type { GroupNetwork, Runtime, WantedGpus, Whereabouts, WorkloadSpec } from '../../runtimes/runtime.ts';
import { bringImage } from '../workloads/bring-image.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';
import { decideLimits, visibleLimits } from '../workloads/decide-limits.ts';
import { startOnPorts } from '../workloads/start-on-ports.ts';
import type { EnvDefaults } from '../workloads/workload-env.ts';
import type { WorkloadHub } from '../workloads/workload-hub.ts';
import type { WorkloadMounts } from '../workloads/workload-mounts.ts';
import { podEnv } from './pod-env.ts';

export interface PodStart {
  pool: Pool;
  bus: Bus;
  runtime: Runtime;
  logs: LogCollector;
  mounts: WorkloadMounts;
  hub: WorkloadHub;
  /** Opens credentials of private registries and secrets named in an env. */
  secretBox: SecretBox;
  /** The address on which ports of pods are published; null: that of the machine a pod runs on, which the runtime sets. */
  publishIp: string | null;
  perGpu: PerGpuSettings;
  /** Where containers reach the API; null unless the operator says so. */
  publicUrl: string | null;
}

const GPU_POLLS = 60;
const GPU_POLL_INTERVAL_MS = 250;

/**
 * Takes a pod from its row to a running container. True when it runs; false when it was superseded: `superseded` aborts when
 * something else is wanted, and no pull or place is then waited for. Throws an error whose message is fit for users.
 */
export async function startPod(deps: PodStart, pod: ControlledPod, superseded: AbortSignal): Promise<boolean> {
  const { pool, logs } = deps;
  const pull = pullImage(deps, pod);
  const isSuperseded = await Promise.race([pull.done.then(() => false), aborted(superseded).then(() => true)]);
  pull.silence();
  if (isSuperseded) return false;
  await waitForGpus(deps, pod);
  if (!(await markPodPhase(pool, pod, 'STARTING'))) return false;
  const found = await startContainer(deps, pod, await pull.done, superseded);
  await markPodRunning(pool, pod, found);
  logs.follow(pod.id);
  return true;
}

function pullImage(
  deps: PodStart,
  pod: ControlledPod,
): { done: Promise<WorkloadSpec['registry']>; silence: () => void } {
  let isSilent = false;
  const onProgress = (line: string) => {
    if (!isSilent) deps.logs.system(pod.id, line);
  };
  const done = bringImage(deps, pod, { onProgress }).then(({ registry }) => registry);
  done.catch(() => {}); // a superseded pull may fail unheard
  return { done, silence: () => (isSilent = true) };
}

/**
 * Waits, at most 15 s, until the runtime has the GPUs that were allocated to the pod: an evicted worker or a stopping container
 * may still hold them. After that, the start reports what is missing.
 */
async function waitForGpus({ runtime }: PodStart, pod: ControlledPod): Promise<void> {
  if (pod.gpu === null) return;
  const { count } = pod.gpu;
  for (let left = GPU_POLLS; left > 0; left--) {
    const { gpus } = await runtime.capacity();
    const here = gpus.filter(
      (one) => one.pool === pod.gpuPool && one.dataCenterId === pod.dataCenterId && one.gpuTypeId === pod.gpu!.id,
    );
    if (here.some(({ free }) => free >= count)) return;
    await sleep(GPU_POLL_INTERVAL_MS);
  }
}

async function startContainer(
  deps: PodStart,
  pod: ControlledPod,
  registry: WorkloadSpec['registry'],
  signal: AbortSignal,
): Promise<Whereabouts> {
  const onProgress = (line: string) => deps.logs.system(pod.id, line);
  const onWaiting = (missing: string) => {
    const reason = placeReason(missing);
    onProgress(reason);
    markPodWaiting(deps.pool, pod, reason).then(
      () => deps.bus.publish('pod', pod.id),
      () => {}, // its log says it, and the next reason is recorded again
    );
  };
  return startOnPorts(deps, pod.ports, async (tcpPorts) => {
    const spec = { ...(await workloadSpec(deps, pod, tcpPorts)), registry };
    return deps.runtime.start(spec, { onProgress, onWaiting, signal });
  });
}

async function workloadSpec(
  deps: PodStart,
  pod: ControlledPod,
  tcpPorts: ReadonlyMap<number, number>,
): Promise<Omit<WorkloadSpec, 'registry'>> {
  const { runtime, publishIp, perGpu } = deps;
  const storage = await deps.mounts.ofPod(pod);
  const capacity = await runtime.capacity();
  const { dataCenterId } = pod;
  const network = pod.cluster && (await joinNetwork(deps, pod, pod.cluster));
  const gpu = pod.gpuPool === null ? null : { ...gpusOf(pod.gpu!, pod.cudaVersion), pool: pod.gpuPool };
  const limits = decideLimits({ cpu: pod.cpu, gpu: gpu && { ...gpu, dataCenterId } }, capacity, perGpu);
  return {
    id: pod.id,
    kind: 'pod',
    image: pod.image,
    args: pod.args,
    env: {
      ...deps.hub.envOf(pod.id),
      ...podEnv(pod, {
        env: await resolveSecrets(deps, pod.userId, pod.env),
        storageEnv: storage.env,
        ...visibleLimits(limits, capacity),
        defaults: await envDefaults(deps, pod),
        jupyterPassword: hasOwnPassword(pod) ? await makeJupyterPassword(deps, pod) : null,
        publicIp: publishIp,
        tcpPorts,
        cluster: pod.cluster && network && { ...pod.cluster, ...network },
      }),
    },
    diskGb: pod.diskGb,
    ports: pod.ports,
    publicPorts: Object.fromEntries(tcpPorts),
    imageDefaults: {
      ...(pod.cudaVersion !== null && { CUDA_VERSION: pod.cudaVersion }),
      ...deps.hub.imageDefaultsOf(pod.id),
    },
    gpu,
    dataCenterId,
    ...limits,
    mounts: storage.mounts,
    ...(pod.cluster && { group: { id: pod.cluster.id, rank: pod.cluster.rank } }),
    isPriority: false,
  };
}

async function envDefaults({ pool, publicUrl }: PodStart, pod: ControlledPod): Promise<EnvDefaults> {
  return {
    publicKeys: pod.startSsh ? await readPublicKeys(pool, pod.userId) : '',
    apiKey: KEY_VARIABLE in pod.env ? null : await renewPodKey(pool, pod),
    publicUrl,
  };
}

/** A pod that has a rule for CUDA must start where the driver supports the version that it was placed for. */
function gpusOf(gpu: PodGpu, cudaVersion: string | null): Omit<WantedGpus, 'pool'> {
  const hasRule = gpu.allowedCudaVersions !== undefined || gpu.minCudaVersion !== undefined;
  return { count: gpu.count, gpuTypeId: gpu.id, ...(hasRule && cudaVersion !== null && { cudaVersion }) };
}

/** Creates the network of the pod's cluster, unless it exists, and stores the pod's address on it. */
async function joinNetwork(
  { runtime, pool }: PodStart,
  { id, ports }: ControlledPod,
  cluster: ClusterPlace,
): Promise<GroupNetwork> {
  const network = await runtime.groups.ensure({ id: cluster.id, size: cluster.podCount, ports });
  await markOnNetwork(pool, cluster.id, { cidr: network.cidr, pods: [{ id, ip: network.addressOf(cluster.rank) }] });
  return network;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Failures of the runtime, the registry or the database, which end by themselves. */
const PASSING: ReadonlySet<FailureKind> = new Set([
  'unavailable',
  'conflict',
  'tooManyRequests',
  'badGateway',
  'gatewayTimeout',
  'requestTimeout',
  'internal',
]);

/** True when another try would fail alike: the user has to change something first. */
export function needsChange(error: unknown): boolean {
  return error instanceof Failure && !PASSING.has(error.kind);
}
