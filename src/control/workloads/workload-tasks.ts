import { BoundedMap } from '../../core/bounded-map.ts';
import { isReported } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';

const SETTLE_TIMEOUT_MS = 3_000;
const MAX_REMEMBERED = 10_000;
/** After a failed task its workload pauses: this long, then twice as long after each further failure. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** After a failure that its source reports, the database's say, whose return the loops notice by themselves. */
const REPORTED_PAUSE_MS = 1_000;

/**
 * Runs one task at a time per workload. Remembers the order in which tasks ended, because a list of the runtime that was
 * begun before a task ended may be out of date about its workload. While a runtime is away, everything that has to be done
 * fails at once: a workload whose task failed stays busy for a growing pause, which ends when a task of another one succeeds,
 * or the runtime is known to be back.
 */
export class WorkloadTasks {
  readonly #log: SeldomLog;
  readonly #onEnd: (id: string) => void;
  readonly #running = new Map<string, { ended: Promise<void>; cancel: AbortController }>();
  /** The place of a workload's last task in the order of ends. */
  readonly #endedAs = new BoundedMap<string, number>(MAX_REMEMBERED);
  /** How often in a row the tasks of a workload have failed. */
  readonly #failures = new BoundedMap<string, number>(MAX_REMEMBERED);
  /** The ends of the pauses. */
  readonly #pauses = new Set<() => void>();
  #ended = 0;

  constructor(options: { logger: Logger; onEnd: (id: string) => void }) {
    this.#log = new SeldomLog(options.logger);
    this.#onEnd = options.onEnd;
  }

  /** True while a task runs, and in the pause after one that failed. */
  isBusy(id: string): boolean {
    return this.#running.has(id);
  }

  /** A mark in the order of ends: take it before a list is begun. */
  mark(): number {
    return this.#ended;
  }

  /** True when a list that was begun at `mark` may be out of date about the workload. */
  isTouchedSince(id: string, mark: number): boolean {
    return this.isBusy(id) || this.#hasEndedSince(id, mark);
  }

  /** Leaves out of rows that were begun to be read at `mark` those of workloads whose task has ended since: they may be from before. */
  upToDate<T extends { id: string }>(rows: readonly T[], mark: number): T[] {
    return rows.filter(({ id }) => !this.#hasEndedSince(id, mark));
  }

  #hasEndedSince(id: string, mark: number): boolean {
    return (this.#endedAs.get(id) ?? 0) > mark;
  }

  /**
   * Starts a task of a workload that is not busy. `action` names it in the log. A failure is logged; the next comparison finds
   * what is left to do. `signal` aborts when the task is cancelled: a pull may take an hour.
   */
  run(id: string, action: string, work: (signal: AbortSignal) => Promise<void>): void {
    const cancel = new AbortController();
    const ended = work(cancel.signal)
      .then(
        () => this.#succeeded(id),
        (error) => this.#failed(id, action, error),
      )
      .finally(() => {
        this.#running.delete(id);
        this.#endedAs.delete(id); // the newest end comes last, so that the oldest is evicted
        this.#endedAs.set(id, ++this.#ended);
        this.#onEnd(id);
      });
    this.#running.set(id, { ended, cancel });
  }

  /** Cancels the task of a workload, if there is one that can be cancelled. */
  cancel(id: string): void {
    this.#running.get(id)?.cancel.abort();
  }

  /** Ends the pauses: the runtime is back. */
  retry(): void {
    this.#failures.clear();
    this.#wake();
  }

  /** Waits for running tasks, at most 3 s. */
  async settle(): Promise<void> {
    this.#wake();
    const settled = Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
    await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, SETTLE_TIMEOUT_MS).unref())]);
    this.#log.close();
  }

  #succeeded(id: string): void {
    if (this.#failures.size === 0) return;
    this.#failures.delete(id);
    this.#wake();
  }

  async #failed(id: string, action: string, error: unknown): Promise<void> {
    const count = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, count);
    if (!isReported(error)) this.#log.error({ workloadId: id, err: error }, `${action} failed`);
    const longestMs = isReported(error) ? REPORTED_PAUSE_MS : LONGEST_PAUSE_MS;
    const pauseMs = Math.min(longestMs, FIRST_PAUSE_MS * 2 ** (count - 1));
    await this.#pause(pauseMs);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#pauses.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      this.#pauses.add(end);
    });
  }

  #wake(): void {
    for (const end of this.#pauses) end();
  }
}
