import type { Static } from 'typebox';
import { Failure, type FailureKind } from '../../core/errors.ts';
import type { NewPod } from '../../domain/pods/create-pod.ts';
import type { Pod, PodGpu, PodMounts } from '../../domain/pods/pod.ts';
import { type PodUsage, READ_TIMEOUT_MS } from '../../domain/pods/pod-figures.ts';
import { podRuntime } from '../../domain/pods/pod-runtime.ts';
import { directSsh } from '../../domain/pods/pod-ssh.ts';
import type { PodChange } from '../../domain/pods/update-pod.ts';
import { toContainer, toContainerResponse } from '../shared/container-wire.ts';
import { includes } from '../shared/include-query.ts';
import { type LeastVcpus, showVcpus } from '../shared/least-vcpus.ts';
import type { RouteDeps } from '../shared/rest-app.ts';
import type { Wire } from '../shared/wire.ts';
import {
  type CreatePodQuery,
  type CreatePodRequest,
  type createPodRequest,
  POD_DEFAULTS,
  type PodResponse,
  type UpdatePodRequest,
} from './pod-schemas.ts';

type Mounts = NonNullable<CreatePodRequest['mounts']>;
type Response = Static<typeof PodResponse>;

/** How a revision spells pods. */
export interface PodWire extends Wire {
  readonly CreateRequest: ReturnType<typeof createPodRequest>;
  readonly leastVcpus: LeastVcpus;
  /** Whether a pod gets the account's SSH keys if neither the request nor its template says so. */
  readonly sshByDefault: boolean;
  /** Whether an answer names the template that the pod was created from. */
  readonly showsTemplate: boolean;
  /** Failures of a create besides those of every create. */
  readonly createFailures: FailureKind[];
  /** Throws the revision's own failure in place of the domain's. */
  refuse(error: unknown): never;
}

/** Fills in the defaults of a create, except those that a template may provide. */
export function toNewPod(
  { sshByDefault }: PodWire,
  body: CreatePodRequest,
  { private: isPrivate = false }: Static<typeof CreatePodQuery>,
): NewPod {
  return {
    name: body.name,
    ...toContainer(body),
    gpu: body.gpu ? toGpu(body.gpu) : null,
    cpu: body.cpu ?? null,
    ...(body.mounts === undefined ? {} : { mounts: toMounts(body.mounts) }),
    cloud: body.cloud ?? POD_DEFAULTS.cloud,
    dataCenterIds: body.dataCenterIds ?? [],
    hasGlobalNetwork: body.globalNetworking ?? POD_DEFAULTS.globalNetworking,
    isPrivate,
    templateId: body.templateId ?? null,
    sshByDefault,
    ...(body.startSsh === undefined ? {} : { startSsh: body.startSsh }),
    ...(body.startJupyter === undefined ? {} : { startJupyter: body.startJupyter }),
  };
}

function toGpu({ count = POD_DEFAULTS.gpuCount, ...gpu }: NonNullable<CreatePodRequest['gpu']>): PodGpu {
  if (gpu.allowedCudaVersions !== undefined && gpu.minCudaVersion !== undefined) {
    throw new Failure('badRequest', 'gpu.allowedCudaVersions, gpu.minCudaVersion: only one of them can be given');
  }
  return { ...gpu, count };
}

/** Maps the fields that are present. */
export function toPodChange(body: Static<typeof UpdatePodRequest>): PodChange {
  const change: PodChange = toContainer(body);
  if (body.name !== undefined) change.name = body.name;
  if (body.locked !== undefined) change.isLocked = body.locked;
  if (body.globalNetworking !== undefined) change.hasGlobalNetwork = body.globalNetworking;
  if (body.templateId !== undefined) change.templateId = body.templateId;
  if (body.mounts !== undefined) {
    const { persistent, network } = toMounts(body.mounts);
    change.mounts = {
      ...(persistent === null ? {} : { persistent }),
      ...(body.mounts.network === undefined ? {} : { network }),
    };
  }
  return change;
}

/** Maps the mounts of a create. */
export function toMounts({ persistent, network }: Mounts): PodMounts {
  return {
    persistent: persistent ? { sizeGb: persistent.size, path: persistent.path } : null,
    network: network?.[0] ?? null,
  };
}

/** Returns one pod's response, with live figures if it runs. */
export async function readPodResponse(deps: RouteDeps, wire: PodWire, pod: Pod): Promise<Response> {
  return (await readPodResponses(deps, wire, [pod], READ_TIMEOUT_MS.one))[0]!;
}

export async function readPodResponses(
  deps: RouteDeps,
  wire: PodWire,
  pods: readonly Pod[],
  timeoutMs: number = READ_TIMEOUT_MS.list,
): Promise<Response[]> {
  const running = pods.filter((pod) => pod.status === 'RUNNING').map((pod) => pod.id);
  const figures = running.length === 0 ? undefined : await deps.podFigures.read(running, timeoutMs);
  return pods.map((pod) => toPodResponse(wire, pod, figures?.get(pod.id), deps.clock.now()));
}

/** Returns what `include=REASON` adds. */
export function reasonOf({ statusReason }: Pod, query: { include?: string }): { reason?: string | null } {
  return includes(query, 'REASON') ? { reason: statusReason } : {};
}

function toPodResponse(wire: PodWire, pod: Pod, usage: PodUsage | undefined, now: number): Response {
  const { persistent, network } = pod.mounts;
  return {
    id: pod.id,
    name: pod.name,
    status: pod.status,
    actions: pod.actions,
    ...toContainerResponse(pod),
    ...(pod.gpu && { gpu: { id: pod.gpu.id, count: pod.gpu.count } }),
    ...(pod.cpu && { cpu: showVcpus(pod.cpu, wire.leastVcpus) }),
    mounts: {
      ...(persistent && { persistent: { size: persistent.sizeGb, path: persistent.path } }),
      ...(network && { network: [network] }),
    },
    cloud: pod.cloud,
    dataCenterId: pod.dataCenterId,
    template: wire.showsTemplate ? pod.templateId : null,
    cost: pod.costPerHour,
    locked: pod.isLocked,
    globalNetworking: {
      enabled: pod.hasGlobalNetwork,
      // No `ip`: pods cannot reach each other.
      ...(pod.hasGlobalNetwork && { internalDns: `${pod.id}.runpod.internal` }),
    },
    runtime: pod.status === 'RUNNING' ? toRuntime(pod, usage, now) : null,
    cudaVersion: pod.cudaVersion,
    ssh: { proxy: null, direct: directSsh(pod) },
    createdAt: pod.createdAt.toISOString(),
    startedAt: pod.startedAt?.toISOString() ?? null,
    ...(pod.cluster && { cluster: { ...pod.cluster, role: pod.cluster.rank === 0 ? 'PRIMARY' : 'WORKER' } as const }),
  };
}

function toRuntime(pod: Pod, usage: PodUsage | undefined, now: number): NonNullable<Response['runtime']> {
  const { uptimeSeconds, cpuUtil, memoryUtil, gpus } = podRuntime(pod, usage, now);
  return {
    uptime: uptimeSeconds,
    gpus,
    cpu: { util: cpuUtil },
    memory: { util: memoryUtil },
    ports: pod.publishedPorts,
  };
}
