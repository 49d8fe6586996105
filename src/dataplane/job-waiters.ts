import type { JobId } from '../core/ids.ts';
import type { EndedJob } from '../domain/jobs/job.ts';

/** What a waiting request hears: the job that ended, or nothing when it has to look for itself (a chunk, another process). */
export type JobUpdate = EndedJob | undefined;

/** The requests of this process that are held open for a job: runsync, status-sync, stream. */
export class JobWaiters {
  readonly #byJob = new Map<JobId, Set<(news: JobUpdate) => void>>();
  #isReleased = false;

  /**
   * Resolves with news of the job, or with 'timeout'. Subscribe before you look at the job, or its end may slip through
   * between the look and the wait; `cancel` ends a wait that is no longer needed.
   */
  wait(jobId: JobId, timeoutMs: number): { news: Promise<JobUpdate | 'timeout'>; cancel: () => void } {
    let settle: (news: JobUpdate | 'timeout') => void = () => {};
    const news = new Promise<JobUpdate | 'timeout'>((resolve) => {
      const timer = setTimeout(() => settle('timeout'), timeoutMs);
      settle = (result) => {
        clearTimeout(timer);
        this.#unlist(jobId, settle);
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
    return { news, cancel: () => settle('timeout') };
  }

  tell(jobId: JobId, news: JobUpdate): void {
    const listeners = this.#byJob.get(jobId);
    if (listeners) for (const listener of [...listeners]) listener(news);
  }

  /** News may have been missed: everybody looks for themselves. */
  wakeAll(): void {
    for (const listeners of [...this.#byJob.values()]) for (const listener of [...listeners]) listener(undefined);
  }

  /** Answers everybody, because this process is about to end; who comes later does not wait at all. */
  releaseAll(): void {
    this.#isReleased = true;
    this.wakeAll();
  }

  #unlist(jobId: JobId, listener: (news: JobUpdate) => void): void {
    const listeners = this.#byJob.get(jobId);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#byJob.delete(jobId);
  }
}
