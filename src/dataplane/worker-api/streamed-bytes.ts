import { BoundedMap } from '../../core/bounded-map.ts';
import type { JobId, WorkerId } from '../../core/ids.ts';

/** Jobs that stream at the same time; an evicted one is counted from zero. */
const MAX_JOBS = 100_000;

/**
 * How much each job has streamed to this process. Kept in memory alone: to store it would cost each chunk a second write.
 * A worker sends all chunks of a job to one process unless that process restarts.
 */
export class StreamedBytes {
  readonly #jobs = new BoundedMap<JobId, { workerId: WorkerId; bytes: number }>(MAX_JOBS);

  /** Counts a chunk, and returns the bytes of the job so far. Another worker's attempt begins at zero. */
  add(jobId: JobId, workerId: WorkerId, bytes: number): number {
    const known = this.#jobs.get(jobId);
    if (known?.workerId !== workerId) {
      this.#jobs.set(jobId, { workerId, bytes });
      return bytes;
    }
    known.bytes += bytes;
    return known.bytes;
  }

  /** The job has ended, or the worker no longer holds it. */
  forget(jobId: JobId): void {
    this.#jobs.delete(jobId);
  }
}
