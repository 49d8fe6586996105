import { BoundedMap } from '../../core/bounded-map.ts';
import { isReported, messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

const SETTLE_TIMEOUT_MS = 3_000;
const MAX_REMEMBERED = 10_000;

/**
 * Runs one task at a time per workload. Remembers the order in which tasks ended, because a list of the runtime that was
 * begun before a task ended may be out of date about its workload.
 */
export class WorkloadTasks {
  readonly #logger: Logger;
  readonly #onEnd: (id: string) => void;
  readonly #running = new Map<string, Promise<void>>();
  /** The place of a workload's last task in the order of ends. */
  readonly #endedAs = new BoundedMap<string, number>(MAX_REMEMBERED);
  #ended = 0;

  constructor(options: { logger: Logger; onEnd: (id: string) => void }) {
    this.#logger = options.logger;
    this.#onEnd = options.onEnd;
  }

  isBusy(id: string): boolean {
    return this.#running.has(id);
  }

  /** A mark in the order of ends: take it before a list is begun. */
  mark(): number {
    return this.#ended;
  }

  /** True when a list that was begun at `mark` may be out of date about the workload. */
  isTouchedSince(id: string, mark: number): boolean {
    return this.isBusy(id) || (this.#endedAs.get(id) ?? 0) > mark;
  }

  /** Starts a task of a workload that is not busy. A failure is logged; the next comparison finds what is left to do. */
  run(id: string, work: () => Promise<void>): void {
    const task = work()
      .catch((error) => {
        if (!isReported(error)) this.#logger.error({ workloadId: id, err: error }, `task failed: ${messageOf(error)}`);
      })
      .finally(() => {
        this.#running.delete(id);
        this.#endedAs.delete(id); // the newest end comes last, so that the oldest is evicted
        this.#endedAs.set(id, ++this.#ended);
        this.#onEnd(id);
      });
    this.#running.set(id, task);
  }

  /** Waits for running tasks, at most 3 s. */
  async settle(): Promise<void> {
    const settled = Promise.allSettled(this.#running.values());
    await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, SETTLE_TIMEOUT_MS).unref())]);
  }
}
