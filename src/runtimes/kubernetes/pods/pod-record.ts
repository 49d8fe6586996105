import type { WorkloadSpec } from '../../runtime.ts';
import { opaqueName } from '../../workload-spec.ts';
import { type ApiObject, amountOf, type CachedObject, type ContainerStatus, type Pod, timeOf } from '../api/objects.ts';

export const LABELS = {
  installation: 'podyard.dev/installation',
  id: 'podyard.dev/id',
  kind: 'podyard.dev/kind',
  /** The endpoint of a worker. */
  endpoint: 'podyard.dev/endpoint',
  /** The group of pods on a network of their own, and of that network's objects. */
  group: 'podyard.dev/group',
} as const;

/** The workload's container in its pod. A cluster may inject others, such as a service mesh's proxy. */
export const CONTAINER = 'workload';
/** The init container that gets models, of workloads that have some. */
export const MODELS_CONTAINER = 'models';

export const ANNOTATIONS = {
  /** `<pool>:<count>` */
  gpu: 'podyard.dev/gpu',
  /** `<port>/<protocol>`, comma-separated. */
  ports: 'podyard.dev/ports',
  /** Since when it is parked. */
  parked: 'podyard.dev/parked',
  /** Its CPUs when it is not parked. */
  cpus: 'podyard.dev/cpus',
} as const;

/** The cached part of our pods: about 500 bytes of 6 KB. */
export interface PodRecord extends CachedObject {
  id: string;
  kind: 'worker' | 'pod';
  installation: string;
  phase: string;
  /** Why the cluster ended it, e.g. Evicted. */
  reason: string | null;
  message: string | null;
  nodeName: string | null;
  address: string | null;
  isDeleting: boolean;
  isParked: boolean;
  gpu: WorkloadSpec['gpu'];
  ports: readonly string[];
  /** CPU limit when it is not parked; null: none. */
  cpus: number | null;
  memoryBytes: number | null;
  /** The CPU request as a share of the limit. */
  cpuRequestShare: number;
  /** The CPU limit the node enforces; null where the node does not report it. */
  grantedCpus: number | null;
  /** Why a resize is pending, e.g. Infeasible. */
  resizeProblem: string | null;
  claims: readonly string[];
  pullSecrets: readonly string[];
  /** The scheduler's message while it has no node. */
  unschedulable: string | null;
  /** Names of the gates that keep the scheduler from looking at it, as Kueue sets. */
  gates: readonly string[];
  waiting: { reason: string; message: string } | null;
  /** The container that gets its models; null: there is none, or its node has not begun with it. */
  models: {
    waiting: { reason: string; message: string } | null;
    isRunning: boolean;
    ended: { exitCode: number; message: string } | null;
  } | null;
  runningSince: Date | null;
  /** Id of its image, as the node reports it; '' until it is known. */
  imageId: string;
  ended: { exitCode: number; reason: string; message: string; startedAt: Date | null; finishedAt: Date | null } | null;
  /** Why the cluster ended it, e.g. PreemptionByScheduler. */
  disruption: { reason: string; message: string } | null;
  finishedAt: Date | null;
}

const NO_CONTAINER: ContainerStatus = { name: CONTAINER };

function workloadOf<T extends { name: string }>(containers: readonly T[] | undefined): T | undefined {
  return containers?.find(({ name }) => name === CONTAINER);
}

function modelsOf({ initContainerStatuses = [] }: NonNullable<Pod['status']>): PodRecord['models'] {
  const state = initContainerStatuses.find(({ name }) => name === MODELS_CONTAINER)?.state;
  if (!state) return null;
  const { waiting, running, terminated } = state;
  return {
    waiting: waiting ? { reason: waiting.reason ?? '', message: waiting.message ?? '' } : null,
    isRunning: running !== undefined,
    ended: terminated
      ? { exitCode: terminated.exitCode, message: (terminated.message || terminated.reason) ?? '' }
      : null,
  };
}

export function toPodRecord(object: ApiObject): PodRecord {
  const { metadata, spec, status = {} } = object as Pod;
  const { labels = {}, annotations = {} } = metadata;
  const { state = {}, resources = {}, imageID = '' } = workloadOf(status.containerStatuses) ?? NO_CONTAINER;
  const condition = (type: string, is: string) =>
    status.conditions?.find((one) => one.type === type && one.status === is);
  const scheduled = condition('PodScheduled', 'False');
  const disrupted = condition('DisruptionTarget', 'True');
  const { limits = {}, requests = {} } = workloadOf(spec.containers)?.resources ?? {};
  const { waiting, running, terminated } = state;
  return {
    key: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    id: labels[LABELS.id] ?? '',
    kind: labels[LABELS.kind] === 'pod' ? 'pod' : 'worker',
    installation: labels[LABELS.installation] ?? '',
    phase: status.phase ?? 'Pending',
    reason: status.reason ?? null,
    message: status.message ?? null,
    nodeName: spec.nodeName ?? null,
    address: status.podIP || null,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isParked: annotations[ANNOTATIONS.parked] !== undefined,
    gpu: gpuOf(annotations[ANNOTATIONS.gpu]),
    ports: (annotations[ANNOTATIONS.ports] ?? '').split(',').filter(Boolean),
    cpus: amountOf(annotations[ANNOTATIONS.cpus]) || null,
    memoryBytes: amountOf(limits.memory) || null,
    cpuRequestShare: limits.cpu === undefined ? 1 : amountOf(requests.cpu ?? limits.cpu) / amountOf(limits.cpu),
    grantedCpus: amountOf(resources.limits?.cpu) || null,
    resizeProblem: condition('PodResizePending', 'True')?.reason ?? null,
    claims: (spec.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []),
    pullSecrets: (spec.imagePullSecrets ?? []).map(({ name }) => name),
    unschedulable: scheduled?.reason === 'Unschedulable' ? (scheduled.message ?? '') : null,
    gates: scheduled?.reason === 'SchedulingGated' ? (spec.schedulingGates ?? []).map(({ name }) => name) : [],
    waiting: waiting ? { reason: waiting.reason ?? '', message: waiting.message ?? '' } : null,
    models: modelsOf(status),
    imageId: running ? imageID : '',
    runningSince: running ? timeOf(running.startedAt ?? metadata.creationTimestamp) : null,
    ended: terminated
      ? {
          exitCode: terminated.exitCode,
          reason: terminated.reason ?? '',
          message: terminated.message ?? '',
          startedAt: timeOf(terminated.startedAt),
          finishedAt: timeOf(terminated.finishedAt),
        }
      : null,
    disruption: disrupted ? { reason: disrupted.reason ?? '', message: disrupted.message ?? '' } : null,
    finishedAt: timeOf(condition('Ready', 'False')?.lastTransitionTime),
  };
}

function gpuOf(text: string | undefined): WorkloadSpec['gpu'] {
  const match = /^(.+):(\d+)$/.exec(text ?? '');
  return match && { pool: match[1]!, count: Number(match[2]) };
}

/** The name of a group's Service, and so of its pods' domain. Does not contain the id, as the names of pods' Services do not. */
export function groupName(id: string, installation: string): string {
  return `podyard-${opaqueName(installation, id)}`;
}

/** The host name of a group's pod: its name in the group's domain. */
export function memberHostname(rank: number): string {
  return `rank-${rank}`;
}
