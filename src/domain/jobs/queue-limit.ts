/** How many jobs an endpoint's queue takes (docs/interface/queue.md, "Order and queue limit"). */

const LEAST = 50;
const PER_WORKER = 500;

export interface QueueLimit {
  /** While more are queued, further ones are refused. */
  jobs: number;
  /** Why it is that many, and how to raise it. */
  reason: string;
}

/** `userWorkers`: the user's limit of workers, which counts where it is lower; null if there is none. */
export function queueLimit(workersMax: number, userWorkers: number | null): QueueLimit {
  const workers = Math.min(workersMax, userWorkers ?? Number.POSITIVE_INFINITY);
  return { jobs: Math.max(LEAST, workers * PER_WORKER), reason: reasonOf(workersMax, workers) };
}

function reasonOf(workersMax: number, workers: number): string {
  if (workers < workersMax) {
    return `the user's limit 'workers' of ${workers}, which is less than workers.max ${workersMax}`;
  }
  if (workersMax === 0) {
    return `workers.max 0, which pauses the endpoint: raise it to run the jobs, and to queue ${PER_WORKER} for each worker`;
  }
  return `workers.max ${workersMax}: ${PER_WORKER} for each worker`;
}
