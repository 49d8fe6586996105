import type { JobId } from '../core/ids.ts';
import type { EndedJob } from '../domain/jobs/job.ts';

/** The update that a waiting request receives: the job that ended, or undefined when it has to read the job itself. */
export type JobUpdate = EndedJob | undefined;

/** The requests of this process that are held for a job: runsync, status-sync, stream. */
export class JobWaiters {
  readonly #byJob = new Map<JobId, Set<(update: JobUpdate) => void>>();
  #isReleased = false;
  #onEmpty: (() => void)[] = [];

  /**
   * Resolves with the next update of the job, or 'timeout'. Call it before you read the job: an end between the read and
   * the wait would be missed. `cancel` ends a wait that is no longer needed, as a timeout.
   */
  wait(jobId: JobId, timeoutMs: number): { update: Promise<JobUpdate | 'timeout'>; cancel: () => void } {
    let settle: (update: JobUpdate | 'timeout') => void = () => {};
    const update = new Promise<JobUpdate | 'timeout'>((resolve) => {
      const timer = setTimeout(() => settle('timeout'), timeoutMs);
      settle = (result) => {
        clearTimeout(timer);
        this.#remove(jobId, settle);
        resolve(result);
      };
    });
    let listeners = this.#byJob.get(jobId);
    if (!listeners) {
      listeners = new Set();
      this.#byJob.set(jobId, listeners);
    }
    listeners.add(settle);
    if (this.#isReleased) settle(undefined);
    return { update, cancel: () => settle('timeout') };
  }

  /** Resolves when nothing is held any more. */
  whenEmpty(): Promise<void> {
    if (this.#byJob.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  notify(jobId: JobId, update: JobUpdate): void {
    const listeners = this.#byJob.get(jobId);
    if (listeners) for (const listener of [...listeners]) listener(update);
  }

  /** Makes every waiter read its job: updates may have been missed. */
  wakeAll(): void {
    for (const listeners of [...this.#byJob.values()]) for (const listener of [...listeners]) listener(undefined);
  }

  /** Ends every wait, later ones too, before the process stops. */
  releaseAll(): void {
    this.#isReleased = true;
    this.wakeAll();
  }

  #remove(jobId: JobId, listener: (update: JobUpdate) => void): void {
    const listeners = this.#byJob.get(jobId);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#byJob.delete(jobId);
    if (this.#byJob.size === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
  }
}
