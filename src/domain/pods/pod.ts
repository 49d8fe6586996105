import type { ClusterId, PodId, UserId } from '../../core/ids.ts';
import type { ContainerConfig, CpuConfig } from '../endpoints/endpoint.ts';
import type { PersistentMount } from '../templates/template.ts';

export const POD_STATUSES = ['PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR', 'TERMINATED'] as const;
export type PodStatus = (typeof POD_STATUSES)[number];

export const POD_ACTIONS = ['start', 'stop', 'restart', 'terminate'] as const;
export type PodAction = (typeof POD_ACTIONS)[number];

export type Cloud = 'SECURE' | 'COMMUNITY';

export interface NetworkMount {
  volumeId: string;
  path: string;
}

/** At most one of them is set. */
export interface PodMounts {
  /** On the pod's machine; removed with the pod. */
  persistent: PersistentMount | null;
  network: NetworkMount | null;
}

/** A port of the container, and where this machine publishes it; null if it does not. */
export interface PodPort {
  private: number;
  public: number | null;
  type: 'http' | 'tcp';
  ip: string | null;
}

/** The wanted state; only operations set it. */
export type PodWanted = 'RUN' | 'STOP' | 'TERMINATE';
/** The observed state of the container of `phaseRevision`; only control sets it. */
export type PodPhase = 'PROVISIONING' | 'STARTING' | 'RUNNING' | 'EXITED' | 'ERROR';

/** GPUs of a type, and what the pod requires of their driver and machine: an absent member requires nothing. */
export interface PodGpu {
  id: string;
  count: number;
  /** The driver supports exactly one of these CUDA versions. */
  allowedCudaVersions?: string[];
  /** The driver supports this CUDA version or a newer one. */
  minCudaVersion?: string;
  /** The machine's GB of memory and CPUs for each of its GPUs. */
  minRamPerGpu?: number;
  minVcpuCountPerGpu?: number;
}

/** The place of a pod in its cluster. */
export interface PodCluster {
  id: ClusterId;
  /** From 0, which is the primary's. */
  rank: number;
  /** On the cluster's network; null until known. */
  ip: string | null;
}

export interface Pod extends ContainerConfig {
  id: PodId;
  userId: UserId;
  name: string;
  /** Exactly one of `gpu` and `cpu` is set. */
  gpu: PodGpu | null;
  cpu: CpuConfig | null;
  mounts: PodMounts;
  cloud: Cloud;
  dataCenterIds: string[];
  /** Where it was placed; it never moves. Of a waiting cluster's pod: where one would be tried first. */
  dataCenterId: string;
  /** The CUDA version of the driver there; null where it is unknown, and without GPUs. */
  cudaVersion: string | null;
  /** Null for a pod of its own. */
  cluster: PodCluster | null;
  templateId: string | null;
  isLocked: boolean;
  hasGlobalNetwork: boolean;
  /** Its HTTP ports ask for a key of its owner. */
  isPrivate: boolean;
  /** Its container gets the account's SSH keys (`PUBLIC_KEY`), with which images start their SSH server. */
  startSsh: boolean;
  /** Its container gets a password (`JUPYTER_PASSWORD`), with which images start Jupyter. */
  startJupyter: boolean;
  /** When it is stopped and terminated without another request; null: never. */
  stopAt: Date | null;
  terminateAt: Date | null;
  status: PodStatus;
  /** Why it waits, failed or was stopped, in one sentence; null if there is nothing to report. */
  statusReason: string | null;
  actions: PodAction[];
  /** USD; 0 while it holds no hardware. */
  costPerHour: number;
  /** The address at which this machine reaches it, and its published ports; null and empty unless RUNNING. */
  address: string | null;
  publishedPorts: PodPort[];
  createdAt: Date;
  startedAt: Date | null;
  changedAt: Date;
}

/** The facts that a pod's status derives from. */
export interface PodCondition {
  wanted: PodWanted;
  revision: number;
  phase: PodPhase;
  phaseRevision: number;
}

/**
 * Returns a pod's status, which follows the wanted state at once: a pod to be stopped is EXITED, and one to be started or
 * replaced is PROVISIONING or STARTING, whatever its old container still does (docs/states.md, "Pod").
 */
export function podStatus({ wanted, revision, phase, phaseRevision }: PodCondition): PodStatus {
  if (wanted === 'TERMINATE') return 'TERMINATED';
  if (wanted === 'STOP') return 'EXITED';
  if (phaseRevision === revision) return phase;
  return phase === 'RUNNING' || phase === 'STARTING' ? 'STARTING' : 'PROVISIONING';
}

const ACTIONS: Record<PodStatus, readonly PodAction[]> = {
  PROVISIONING: ['stop', 'terminate'],
  STARTING: ['stop', 'terminate'],
  RUNNING: ['stop', 'restart', 'terminate'],
  EXITED: ['start', 'terminate'],
  ERROR: ['start', 'terminate'],
  TERMINATED: [],
};

/** docs/interface/rest.md, "Pods"; a lock takes `stop` and `restart` away. */
export function podActions(status: PodStatus, isLocked: boolean): PodAction[] {
  return ACTIONS[status].filter((action) => !isLocked || (action !== 'stop' && action !== 'restart'));
}

/** True while the pod holds hardware, and so costs. */
export function isHolding(status: PodStatus): boolean {
  return status === 'PROVISIONING' || status === 'STARTING' || status === 'RUNNING';
}

/** The status that a pod should have, as interfaces older than this one say it. */
export const DESIRED_STATUS: Record<PodStatus, 'RUNNING' | 'EXITED' | 'TERMINATED'> = {
  PROVISIONING: 'RUNNING',
  STARTING: 'RUNNING',
  RUNNING: 'RUNNING',
  EXITED: 'EXITED',
  ERROR: 'EXITED',
  TERMINATED: 'TERMINATED',
};
