import type { Clock } from '../../core/clock.ts';
import type { Observed, Runtime } from '../../runtimes/runtime.ts';
import type { WorkloadTasks } from './workload-tasks.ts';

/** The longest time between two lists, events or not. */
const TICK_MS = 2_000;
/** Listing and comparing may take this share of the time: with more workloads, events lead to a list less often. */
const LIST_SHARE = 0.05;

/** The runtime's workloads when the mark was taken. */
export interface WorkloadList {
  workloads: readonly Observed[];
  mark: number;
}

interface Deps {
  runtime: Pick<Runtime, 'list'>;
  monotonic: Clock;
  tasks: Pick<WorkloadTasks, 'mark'>;
  /** Called when a list has arrived or failed. */
  onList: () => void;
}

type Outcome = { list: WorkloadList } | { failure: unknown };

/**
 * Decides when to ask the runtime for its list, and holds the list that has arrived. The list is made beside the loop, which
 * is woken when it arrives: with thousands of workloads, or a slow engine, a start would otherwise wait for it. All times are
 * monotonic, in ms.
 */
export class WorkloadLists {
  readonly #deps: Deps;
  #begunAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  #hasChanges = true;
  #listing: Promise<void> | undefined;
  #outcome: Outcome | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** A workload changed: the next list is made as soon as the share of time allows. */
  markChanged(): void {
    this.#hasChanges = true;
  }

  /** Drops a list that has arrived, and makes the next one due. */
  reset(): void {
    this.#outcome = undefined;
    this.#begunAt = Number.NEGATIVE_INFINITY;
  }

  /** Delays the next list to half a tick from now, unless it is the first or a workload changed. */
  postpone(now: number): void {
    if (this.#begunAt === Number.NEGATIVE_INFINITY || this.#hasChanges) return;
    this.#begunAt = Math.max(this.#begunAt, now - TICK_MS / 2);
  }

  /** Asks for a list if one is due. */
  beginIfDue(now: number): void {
    if (this.#outcome) return;
    const dueAt = this.nextAt(now);
    if (dueAt !== undefined && dueAt <= now) void this.begin(now);
  }

  /** Asks for a list; resolves when it has arrived or failed. */
  begin(now: number): Promise<void> {
    this.#hasChanges = false;
    const mark = this.#deps.tasks.mark();
    const startedAt = this.#deps.monotonic.now();
    const end = (outcome: Outcome) => {
      this.#listing = undefined;
      this.#outcome = outcome;
      this.#begunAt = now;
      this.#tookMs = this.#deps.monotonic.now() - startedAt;
      this.#deps.onList();
    };
    this.#listing = this.#deps.runtime.list().then(
      (workloads) => end({ list: { workloads, mark } }),
      (failure) => end({ failure }),
    );
    return this.#listing;
  }

  /** When the next list is due; undefined while one is being made, because its arrival wakes the loop. */
  nextAt(now: number): number | undefined {
    if (this.#listing) return undefined;
    const tickAt = this.#begunAt + TICK_MS;
    if (!this.#hasChanges) return tickAt;
    return Math.min(this.#begunAt + this.#tookMs / LIST_SHARE, tickAt, now + TICK_MS);
  }

  /** Returns the list that has arrived since the last call, if any. Throws the error of one that failed. */
  take(): WorkloadList | undefined {
    const outcome = this.#outcome;
    this.#outcome = undefined;
    if (outcome && 'failure' in outcome) throw outcome.failure;
    return outcome?.list;
  }

  /** Adds the time of a comparison to what the list took. */
  addCost(tookMs: number): void {
    this.#tookMs += tookMs;
  }

  /** Resolves when no list is being made. */
  async settle(): Promise<void> {
    await this.#listing;
  }
}
