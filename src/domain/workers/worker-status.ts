/** What a client is told about a live worker (docs/interface/rest.md, "Workers"). */
export type WorkerStatus = 'RUNNING' | 'IDLE' | 'INITIALIZING' | 'THROTTLED' | 'UNHEALTHY';

export interface WorkerCondition {
  phase: 'PENDING' | 'STARTING' | 'RUNNING';
  phaseReason: string | null;
  isReady: boolean;
  /** It holds a job or a request. */
  isBusy: boolean;
  /** Its last start or life ended by itself, and it waits to be started again. */
  isLost: boolean;
  /** What it says of itself, or what was found out about it. */
  unhealthyReason: string | null;
}

/** How a `phaseReason` begins when a worker waits for capacity; whoever writes the reason uses this. */
export const NO_CAPACITY = 'no capacity';

/**
 * Ill health comes first, so that a broken worker is never shown as merely waiting; then work, which only a ready
 * worker can have.
 */
export function workerStatus(worker: WorkerCondition): WorkerStatus {
  if (worker.unhealthyReason !== null || worker.isLost) return 'UNHEALTHY';
  if (worker.phase !== 'RUNNING' && worker.phaseReason?.startsWith(NO_CAPACITY)) return 'THROTTLED';
  if (worker.phase !== 'RUNNING') return 'INITIALIZING';
  if (worker.isBusy) return 'RUNNING';
  return worker.isReady ? 'IDLE' : 'INITIALIZING';
}

/** Why it is throttled, unhealthy or not started yet; null when there is nothing to say. */
export function workerReason(worker: WorkerCondition): string | null {
  if (worker.unhealthyReason !== null) return worker.unhealthyReason;
  return worker.phase !== 'RUNNING' || worker.isLost ? worker.phaseReason : null;
}

export interface WorkerSummary {
  running: number;
  idle: number;
  initializing: number;
  throttled: number;
  unhealthy: number;
  total: number;
}

/** Counts the statuses of a list, so that the two can never disagree. */
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
