/** The inputs of a scaling decision: plain values; times are milliseconds since 1970. */
import type { Because, BudgetStop } from './because.ts';
import { type Releases, weightOf } from './releases.ts';

/** A limit of the user that allows an endpoint fewer workers than `workers.max`, or a budget that allows none. */
export type UserCut = LimitCut | ({ name: 'budget'; max: 0 } & BudgetStop);

export interface LimitCut {
  name: 'workers' | 'gpus';
  limit: number;
  /** How much of it the user's other endpoints and pods have. */
  elsewhere: number;
  /** How many workers are left for the endpoint. */
  max: number;
}

export interface ScalingEndpoint extends Releases {
  /** `workers.min`, or the scheduled floor if that is larger; during a trial at least 1. */
  min: number;
  /** The schedule of an endpoint that has one. */
  schedule?: {
    /** `min` is the scheduled floor. */
    isFloor: boolean;
    /** When the floor changes, as people read it; null if it never does. */
    until: string | null;
    changesAt: number | null;
  };
  /** `min` is 1 because the newest release is tried. */
  isTrial?: boolean;
  max: number;
  /** A limit of the user that allows fewer than `max`. */
  userCut?: UserCut | null;
  scaler: { type: 'QUEUE_DELAY' | 'REQUEST_COUNT'; value: number };
  idleTimeoutMs: number;
  flashboot: 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT';
}

/** Waiting and running jobs of a queue, or held and in-flight requests of a load balancer. */
export interface Demand {
  /** Without lowPriority jobs, which never cause a scale-up, and without batches. */
  queued: number;
  queuedLowPriority: number;
  /**
   * Requests of running batches that no worker has. Like queued jobs they call for workers, which take interactive jobs first;
   * they have waited since the oldest of the batches was finalized.
   */
  batched?: number;
  oldestBatchAt?: number | null;
  inProgress: number;
  /** When the oldest of `queued` was queued. */
  oldestQueuedAt: number | null;
}

export interface ScalingWorker {
  id: string;
  version: number;
  /**
   * `starting`: becoming ready, by a start or a thaw. `leaving`: it gets no new work and ends when its jobs are done. `frozen`:
   * frozen or about to be; it may be thawed.
   */
  state: 'pending' | 'starting' | 'ready' | 'leaving' | 'frozen';
  /** Jobs that keep it busy, or requests in flight. */
  leased: number;
  /** How many of them it was ordered to stop: it gets no others until then. */
  stopping?: number;
  /** When it was added: created, or ordered to thaw. */
  createdAt: number;
  /**
   * For a ready worker without work: since when it has been idle (its last work, or when it became ready by a start or a thaw,
   * whichever is later), and from when on that is certain.
   */
  idleSince: number | null;
  certainlyIdleAt: number | null;
  /** It has done work, so its memory is worth keeping. */
  hasWorked: boolean;
  /** Memory that it holds, or would hold, while frozen. */
  memoryBytes: number;
  frozenAt: number | null;
}

export interface ScalingInput {
  endpoint: ScalingEndpoint;
  demand: Demand;
  workers: readonly ScalingWorker[];
  /** Starts of the newest release that ended before the worker was ready, since one became ready. */
  failedStarts: { count: number; lastAt: number; lastReason: string | null } | null;
  /** For the frozen workers of all endpoints; `reservedBytes`: held by those that this endpoint may not evict. */
  frozenMemory: { budgetBytes: number; reservedBytes: number };
  /** False until the scaler has seen a full round of reports: until then, no worker leaves for lack of work. */
  hasObserved: boolean;
  now: number;
}

/** A worker that should leave, and why. */
export interface Leave extends Because {
  id: string;
}

/** True unless the worker is outdated. */
export function isCurrent(endpoint: ScalingEndpoint, worker: ScalingWorker): boolean {
  return weightOf(endpoint, worker.version) > 0;
}

/** True while the worker gets no jobs because it has to stop one. It may be fit for work in a moment, or be replaced. */
export function isStoppingJob({ state, stopping = 0 }: ScalingWorker): boolean {
  return state === 'ready' && stopping > 0;
}

/** Returns the workers that work, or will. */
export function liveOf(workers: readonly ScalingWorker[]): ScalingWorker[] {
  return workers.filter((worker) => worker.state !== 'leaving' && worker.state !== 'frozen');
}

export function earliest(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}
