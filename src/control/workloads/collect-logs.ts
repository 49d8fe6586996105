import { Batcher } from '../../core/batcher.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { appendLogLines, type NewLogLine } from '../../domain/logs/append-log-lines.ts';
import { findLastStored, type LastStored } from '../../domain/logs/find-last-stored.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

const FLUSH_MS = 100;
const FLUSH_BATCH = 1_000;
const MAX_LINE_CHARACTERS = 16_384;
/** Above this, readers wait, and with them the engine's pipes: a workload that floods its log slows down only itself. */
const MAX_BUFFERED = 10_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  runtime: Runtime;
  logger: Logger;
}

/** Follows the output of workloads and stores it in batches, with `system` lines about their life. */
export class LogCollector {
  readonly #deps: Deps;
  readonly #clock: Clock;
  readonly #loop: Loop;
  readonly #following = new Map<string, { abort: AbortController; done: Promise<void> }>();
  /** In batches: a new leader follows thousands of workloads at once. */
  readonly #lastStored: Batcher<string, LastStored | undefined>;
  #buffer: NewLogLine[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  #waitingReaders: (() => void)[] = [];

  constructor({ clock = systemClock, ...deps }: Deps & { clock?: Clock }) {
    this.#deps = deps;
    this.#clock = clock;
    this.#lastStored = new Batcher({
      lanes: 1,
      maxSize: 500,
      isCallFault: () => false,
      flush: async (ids) => {
        const found = await findLastStored(deps.pool, ids);
        return ids.map((id) => found.get(id));
      },
    });
    this.#loop = new Loop({
      name: 'collect-logs',
      tickMs: 60_000,
      logger: deps.logger,
      runOnce: () => this.#flush(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Stops following and stores the lines that have arrived. */
  async stop(): Promise<void> {
    for (const { abort } of this.#following.values()) abort.abort();
    await Promise.all([...this.#following.values()].map(({ done }) => done));
    clearTimeout(this.#flushTimer);
    await this.#loop.stop();
    await this.#flush().catch(() => {});
  }

  /** Adds a line about the workload's life, for its user. */
  system(workloadId: string, line: string): void {
    this.#add({ workloadId, ts: new Date(this.#clock.now()), source: 'system', line });
  }

  /**
   * Follows a workload's output from where the stored lines end. No effect when it is followed already. `isNew`: it has just
   * been started for the first time, so no lines are stored.
   */
  follow(workloadId: string, { isNew = false } = {}): void {
    if (this.#following.has(workloadId) || !this.#deps.runtime.capabilities.logs) return;
    const abort = new AbortController();
    const done = this.#read(workloadId, isNew, abort.signal)
      .catch((error) => {
        if (abort.signal.aborted) return;
        this.#deps.logger.warn({ workloadId, err: error }, `reading a log failed: ${messageOf(error)}`);
      })
      .finally(() => this.#following.delete(workloadId));
    this.#following.set(workloadId, { abort, done });
  }

  /** Waits until the output of an ended workload is read to its end, for `atMostMs` at most. */
  async finish(workloadId: string, atMostMs: number): Promise<void> {
    const following = this.#following.get(workloadId);
    if (!following) return;
    const timer = setTimeout(() => following.abort.abort(), atMostMs);
    await following.done;
    clearTimeout(timer);
  }

  async #read(workloadId: string, isNew: boolean, signal: AbortSignal): Promise<void> {
    const last = isNew ? undefined : await this.#lastStored.run(workloadId);
    const from = last ? { since: last.ts, seen: last.seen } : {};
    for await (const { ts, line } of this.#deps.runtime.logs(workloadId, { ...from, follow: true, signal })) {
      this.#add({ workloadId, ts, source: 'container', line: line.slice(0, MAX_LINE_CHARACTERS) });
      if (this.#buffer.length >= MAX_BUFFERED) await new Promise<void>((resolve) => this.#waitingReaders.push(resolve));
    }
  }

  #add(line: NewLogLine): void {
    this.#buffer.push(line);
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      this.#loop.wake();
    }, FLUSH_MS);
  }

  async #flush(): Promise<undefined> {
    while (this.#buffer.length > 0) {
      const lines = this.#buffer.slice(0, FLUSH_BATCH);
      await appendLogLines(this.#deps.pool, lines);
      this.#buffer = this.#buffer.slice(lines.length);
      for (const workloadId of new Set(lines.map((line) => line.workloadId))) this.#deps.bus.publish('log', workloadId);
    }
    for (const resolve of this.#waitingReaders.splice(0)) resolve();
    return undefined;
  }
}
