/** What a scaling decision is made of. Everything is a plain value; times are milliseconds since 1970. */

export interface ScalingEndpoint {
  min: number;
  max: number;
  scaler: { type: 'QUEUE_DELAY' | 'REQUEST_COUNT'; value: number };
  idleTimeoutMs: number;
  /** Of the newest release. */
  version: number;
  flashboot: 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT';
  /** While it is, no worker leaves for being outdated; what is started is on the newest release all the same. */
  isRolloutPaused: boolean;
}

/** Of a queue: jobs that wait and jobs that run. Of a load balancer: requests that are held and requests in flight. */
export interface Demand {
  /** Those that may cause a scale-up: lowPriority jobs are not among them. */
  queued: number;
  queuedLowPriority: number;
  inProgress: number;
  /** Since when the oldest of `queued` waits. */
  oldestQueuedAt: number | null;
}

export interface ScalingWorker {
  id: string;
  version: number;
  /**
   * `starting`: on its way to being ready, by a start or by a thaw. `leaving`: it gets no more work and ends when its jobs
   * are done. `frozen`: frozen or about to be; it may be thawed.
   */
  state: 'pending' | 'starting' | 'ready' | 'leaving' | 'frozen';
  /** Jobs it holds, or requests in flight. */
  leased: number;
  /** When it was added: created, or told to thaw. */
  createdAt: number;
  /**
   * A ready worker without work: since when (its last work or the moment it became ready, by a start or by a thaw,
   * whichever is later), and the earliest time at which it is certain that it is idle.
   */
  idleSince: number | null;
  certainlyIdleAt: number | null;
  /** It has done work: its memory is worth keeping. */
  hasWorked: boolean;
  /** What it holds, or would hold, while frozen. */
  memoryBytes: number;
  frozenAt: number | null;
}

export interface ScalingInput {
  endpoint: ScalingEndpoint;
  demand: Demand;
  workers: readonly ScalingWorker[];
  /** Starts of the newest release that ended before the worker was ready, since one of it became ready. */
  failedStarts: { count: number; lastAt: number; lastReason: string | null } | null;
  /** For frozen workers of all endpoints; `reservedBytes` is what those hold that this endpoint may not displace. */
  frozenMemory: { budgetBytes: number; reservedBytes: number };
  /** False until whoever asks has seen a full round of reports: then nobody leaves for lack of work. */
  hasObserved: boolean;
  now: number;
}

/** A worker that shall leave, and the sentence why. */
export interface Leave {
  id: string;
  reason: string;
}

/** What is not outdated: of the newest release or, while the roll-out is paused, of any. */
export function isCurrent(endpoint: ScalingEndpoint, worker: ScalingWorker): boolean {
  return endpoint.isRolloutPaused || worker.version === endpoint.version;
}

/** Workers that work, or will. */
export function liveOf(workers: readonly ScalingWorker[]): ScalingWorker[] {
  return workers.filter((worker) => worker.state !== 'leaving' && worker.state !== 'frozen');
}

export function earliest(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}
