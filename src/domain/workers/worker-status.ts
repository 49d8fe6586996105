/** The status of a live worker, as clients see it (docs/interface/rest.md, "Workers"). */
export type WorkerStatus = 'RUNNING' | 'IDLE' | 'INITIALIZING' | 'THROTTLED' | 'UNHEALTHY';

export interface WorkerCondition {
  phase: 'PENDING' | 'STARTING' | 'RUNNING';
  phaseReason: string | null;
  isReady: boolean;
  /** It holds a job or a request. */
  isBusy: boolean;
  /** It may still run a job that it was ordered to stop. */
  isStoppingJob: boolean;
  /** Its container failed, and it waits to be started again. */
  isLost: boolean;
  /** Why it is unhealthy, as reported by itself or by a probe. */
  unhealthyReason: string | null;
}

/** The start of the `phaseReason` of a worker that waits for capacity. */
export const NO_CAPACITY = 'no capacity';

/** The reason of a worker that keeps running a job that was cancelled or timed out. */
export const STOPPING_A_JOB = 'stopping a job; it gets no others until then';

/**
 * Returns a worker's status. UNHEALTHY comes first, so that a broken worker is never shown as waiting; then RUNNING, which
 * requires a ready worker.
 */
export function workerStatus(worker: WorkerCondition): WorkerStatus {
  if (worker.unhealthyReason !== null || worker.isLost) return 'UNHEALTHY';
  if (worker.phase !== 'RUNNING' && worker.phaseReason?.startsWith(NO_CAPACITY)) return 'THROTTLED';
  if (worker.phase !== 'RUNNING') return 'INITIALIZING';
  if (worker.isBusy) return 'RUNNING';
  return worker.isReady ? 'IDLE' : 'INITIALIZING';
}

/** Returns why a worker is throttled, unhealthy, not started yet or gets no jobs; null if there is nothing to report. */
export function workerReason(worker: WorkerCondition): string | null {
  if (worker.unhealthyReason !== null) return worker.unhealthyReason;
  if (worker.phase !== 'RUNNING' || worker.isLost) return worker.phaseReason;
  return worker.isStoppingJob ? STOPPING_A_JOB : null;
}

export interface WorkerSummary {
  running: number;
  idle: number;
  initializing: number;
  throttled: number;
  unhealthy: number;
  total: number;
}

/** Counts the statuses of a list, so that list and summary always agree. */
export function summarizeWorkers(statuses: readonly WorkerStatus[]): WorkerSummary {
  const count = (wanted: WorkerStatus) => statuses.filter((status) => status === wanted).length;
  return {
    running: count('RUNNING'),
    idle: count('IDLE'),
    initializing: count('INITIALIZING'),
    throttled: count('THROTTLED'),
    unhealthy: count('UNHEALTHY'),
    total: statuses.length,
  };
}
