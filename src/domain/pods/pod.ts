import type { PodId, UserId } from '../../core/ids.ts';
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

/** At most one of them is there. */
export interface PodMounts {
  /** On the machine that the pod runs on; it goes with the pod. */
  persistent: PersistentMount | null;
  network: NetworkMount | null;
}

/** A port of the container, and where this machine publishes it; null where it does not. */
export interface PodPort {
  private: number;
  public: number | null;
  type: 'http' | 'tcp';
  ip: string | null;
}

/** What is wanted: set by the operations, and by them alone. */
export type PodWanted = 'RUN' | 'STOP' | 'TERMINATE';
/** What was observed of the container of `phaseRevision`: set by control alone. */
export type PodPhase = 'PROVISIONING' | 'STARTING' | 'RUNNING' | 'EXITED' | 'ERROR';

export interface Pod extends ContainerConfig {
  id: PodId;
  userId: UserId;
  name: string;
  /** Exactly one of `gpu` and `cpu` is there. */
  gpu: { id: string; count: number } | null;
  cpu: CpuConfig | null;
  mounts: PodMounts;
  cloud: Cloud;
  dataCenterIds: string[];
  /** Where it was placed; it stays there for good. */
  dataCenterId: string;
  templateId: string | null;
  isLocked: boolean;
  hasGlobalNetwork: boolean;
  status: PodStatus;
  /** Why it waits or failed, in one sentence; null when there is nothing to say. */
  statusReason: string | null;
  actions: PodAction[];
  /** USD; 0 while it does not hold anything. */
  costPerHour: number;
  /** How this machine reaches it, and what it publishes; null and empty unless RUNNING. */
  address: string | null;
  publishedPorts: PodPort[];
  createdAt: Date;
  startedAt: Date | null;
  changedAt: Date;
}

/** What the status is made of. */
export interface PodCondition {
  wanted: PodWanted;
  revision: number;
  phase: PodPhase;
  phaseRevision: number;
}

/**
 * What a wish leads to is said at once: a pod told to stop is EXITED, one told to start, or to run other settings, is on
 * its way there, whatever its old container still does (docs/states.md, "Pod").
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

/** Whether it holds what it pays for. */
export function isHolding(status: PodStatus): boolean {
  return status === 'PROVISIONING' || status === 'STARTING' || status === 'RUNNING';
}
