import type { Observed, Runtime } from '../../runtimes/runtime.ts';
import type { WorkloadTasks } from './workload-tasks.ts';

/** At the latest so often, events or not. */
const TICK_MS = 2_000;
/** Lists and comparing them may take this share of the time: the more workloads there are, the less often events lead to one. */
const LIST_SHARE = 0.05;

/** What the runtime had when the mark was taken. */
export interface WorkloadList {
  workloads: readonly Observed[];
  mark: number;
}

type Come = { list: WorkloadList } | { failure: unknown };

/**
 * When the runtime is asked for its list, and the list that has come. It is made beside the loop, which is woken when it is
 * there: with thousands of workloads, or a slow engine, a start would otherwise wait for it.
 */
export class WorkloadLists {
  readonly #runtime: Pick<Runtime, 'list'>;
  readonly #tasks: Pick<WorkloadTasks, 'mark'>;
  readonly #onList: () => void;
  #begunAt = 0;
  #tookMs = 0;
  #hasEvents = true;
  #listing: Promise<void> | undefined;
  #come: Come | undefined;

  constructor(options: {
    runtime: Pick<Runtime, 'list'>;
    tasks: Pick<WorkloadTasks, 'mark'>;
    onList: () => void;
  }) {
    this.#runtime = options.runtime;
    this.#tasks = options.tasks;
    this.#onList = options.onList;
  }

  /** Something happened to a workload: the next list comes as soon as it may. */
  noteEvent(): void {
    this.#hasEvents = true;
  }

  /** What has come is worth nothing, and the next list is due. */
  forget(): void {
    this.#come = undefined;
    this.#begunAt = 0;
  }

  /** The next list comes half a tick from now at the earliest, unless it is the first or something happened. */
  postpone(now: number): void {
    if (this.#begunAt === 0 || this.#hasEvents) return;
    this.#begunAt = Math.max(this.#begunAt, now - TICK_MS / 2);
  }

  /** Asks for a list if one is due. */
  beginIfDue(now: number): void {
    if (this.#listing || this.#come) return;
    if (Math.abs(now - this.#begunAt) >= TICK_MS || (this.#hasEvents && now >= this.nextAt(now)!)) void this.begin(now);
  }

  /** Resolves when the list is there. */
  begin(now: number): Promise<void> {
    this.#hasEvents = false;
    const mark = this.#tasks.mark();
    const startedAt = performance.now();
    const end = (come: Come) => {
      this.#listing = undefined;
      this.#come = come;
      this.#begunAt = now;
      this.#tookMs = performance.now() - startedAt;
      this.#onList();
    };
    this.#listing = this.#runtime.list().then(
      (workloads) => end({ list: { workloads, mark } }),
      (failure) => end({ failure }),
    );
    return this.#listing;
  }

  /** When the next one is due; undefined while one is being made, for its end wakes the loop. */
  nextAt(now: number): number | undefined {
    if (this.#listing) return undefined;
    if (!this.#hasEvents) return this.#begunAt + TICK_MS;
    return Math.min(this.#begunAt + this.#tookMs / LIST_SHARE, now + TICK_MS);
  }

  /** The list that has come since the last call, if any. Throws when it could not be had. */
  take(): WorkloadList | undefined {
    const come = this.#come;
    this.#come = undefined;
    if (come && 'failure' in come) throw come.failure;
    return come?.list;
  }

  /** Comparing is part of what a list takes. */
  noteCompared(tookMs: number): void {
    this.#tookMs += tookMs;
  }

  /** Resolves when no list is being made. */
  async settle(): Promise<void> {
    await this.#listing;
  }
}
