import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

const STOP_PATIENCE_MS = 3_000;
const MAX_REMEMBERED = 10_000;

/**
 * One thing at a time for each workload. Remembers in which order workloads were changed, because a list of the runtime
 * that began before a change says nothing about it.
 */
export class WorkloadTasks {
  readonly #logger: Logger;
  readonly #onEnd: (id: string) => void;
  readonly #running = new Map<string, Promise<void>>();
  readonly #endedAt = new Map<string, number>();
  #ended = 0;

  constructor(options: { logger: Logger; onEnd: (id: string) => void }) {
    this.#logger = options.logger;
    this.#onEnd = options.onEnd;
  }

  isBusy(id: string): boolean {
    return this.#running.has(id);
  }

  /** To be taken before a list is begun. */
  mark(): number {
    return this.#ended;
  }

  /** Whether a list that was begun at `mark` may be out of date about it. */
  isTouchedSince(id: string, mark: number): boolean {
    return this.isBusy(id) || (this.#endedAt.get(id) ?? 0) > mark;
  }

  /** A failure is logged and met again by the next comparison. Not to be called for one that is busy. */
  run(id: string, work: () => Promise<void>): void {
    const task = work()
      .catch((error) => this.#logger.error({ workloadId: id, err: error }, `a task failed: ${messageOf(error)}`))
      .finally(() => {
        this.#running.delete(id);
        if (this.#endedAt.size > MAX_REMEMBERED) this.#endedAt.clear();
        this.#endedAt.set(id, ++this.#ended);
        this.#onEnd(id);
      });
    this.#running.set(id, task);
  }

  /** Waits for what is under way, but not for long. */
  async settle(): Promise<void> {
    const settled = Promise.allSettled(this.#running.values());
    await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, STOP_PATIENCE_MS).unref())]);
  }
}
