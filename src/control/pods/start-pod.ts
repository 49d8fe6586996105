import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import type { PerGpuSettings } from '../../core/gpu-share-settings.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { readPublicKeys } from '../../domain/access/public-keys.ts';
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
import type { WorkloadMounts } from '../workloads/workload-mounts.ts';
import { podEnv } from './pod-env.ts';
import { choosePublicPorts } from './public-ports.ts';

export interface PodStart {
  pool: Pool;
  bus: Bus;
  runtime: Runtime;
  logs: LogCollector;
  mounts: WorkloadMounts;
  /** Opens credentials of private registries and secrets named in an env. */
  secretBox: SecretBox;
  /** The address on which ports of pods are published; null: that of the machine a pod runs on, which the runtime sets. */
  publishIp: string | null;
  perGpu: PerGpuSettings;
}

/** An engine's message when another process took the port first. */
const PORT_TAKEN = /already allocated|address already in use/i;
const PORT_TRIES = 3;
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
  const done = bringImage(deps, pod, onProgress);
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
  for (let left = PORT_TRIES; ; left--) {
    const spec = { ...(await workloadSpec(deps, pod)), registry };
    try {
      return await deps.runtime.start(spec, { onProgress, onWaiting, signal });
    } catch (error) {
      if (left === 1 || !PORT_TAKEN.test(messageOf(error))) throw error;
    }
  }
}

async function workloadSpec(deps: PodStart, pod: ControlledPod): Promise<Omit<WorkloadSpec, 'registry'>> {
  const { pool, runtime, publishIp, perGpu } = deps;
  const tcp = pod.ports.filter((port) => port.endsWith('/tcp')).map((port) => Number.parseInt(port, 10));
  // Without a network of its own, a container's ports are this machine's.
  const tcpPorts = runtime.capabilities.isolation
    ? await choosePublicPorts(publishIp ?? '127.0.0.1', tcp)
    : new Map(tcp.map((port) => [port, port]));
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
    env: podEnv(pod, {
      env: await resolveSecrets(deps, pod.userId, pod.env),
      storageEnv: storage.env,
      ...visibleLimits(limits, capacity),
      publicKeys: pod.startSsh ? await readPublicKeys(pool, pod.userId) : '',
      jupyterPassword: hasOwnPassword(pod) ? await makeJupyterPassword(deps, pod) : null,
      publicIp: publishIp,
      tcpPorts,
      cluster: pod.cluster && network && { ...pod.cluster, ...network },
    }),
    diskGb: pod.diskGb,
    ports: pod.ports,
    publicPorts: Object.fromEntries(tcpPorts),
    gpu,
    dataCenterId,
    ...limits,
    mounts: storage.mounts,
    ...(pod.cluster && { group: { id: pod.cluster.id, rank: pod.cluster.rank } }),
    isPriority: false,
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
  const ip = network.addressOf(cluster.rank);
  await markOnNetwork(pool, { id, clusterId: cluster.id }, { cidr: network.cidr, ip });
  return network;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
