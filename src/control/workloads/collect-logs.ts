import { Batcher } from '../../core/batcher.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { appendLogLines, type NewLogLine } from '../../domain/logs/append-log-lines.ts';
import { findLastStored, type LastStored } from '../../domain/logs/find-last-stored.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

const FLUSH_MS = 100;
const MAX_LINE_CHARACTERS = 16_384;
/** Above this the reader waits, and with it the engine's pipe: a worker that floods its log slows down itself alone. */
const MAX_BUFFERED = 10_000;

/** Follows the output of workloads and stores it in batches, together with `system` lines about their life. */
export class LogCollector {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #runtime: Runtime;
  readonly #logger: Logger;
  readonly #loop: Loop;
  readonly #following = new Map<string, { abort: AbortController; done: Promise<void> }>();
  /** Whoever takes over follows thousands at once. */
  readonly #lastStored: Batcher<string, LastStored | undefined>;
  #buffer: NewLogLine[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  #drained: (() => void)[] = [];

  constructor(options: { pool: Pool; bus: Bus; runtime: Runtime; logger: Logger }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#runtime = options.runtime;
    this.#logger = options.logger;
    this.#lastStored = new Batcher({
      lanes: 1,
      maxSize: 500,
      isCallFault: () => false,
      flush: async (ids) => {
        const found = await findLastStored(this.#pool, ids);
        return ids.map((id) => found.get(id));
      },
    });
    this.#loop = new Loop({
      name: 'collect-logs',
      tickMs: 60_000,
      logger: options.logger,
      runOnce: () => this.#flush(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Stops following and stores what has arrived. */
  async stop(): Promise<void> {
    for (const { abort } of this.#following.values()) abort.abort();
    await Promise.all([...this.#following.values()].map(({ done }) => done));
    clearTimeout(this.#flushTimer);
    await this.#loop.stop();
    await this.#flush().catch(() => {});
  }

  /** A line about the workload's life, for its user. */
  system(workloadId: string, line: string): void {
    this.#add({ workloadId, ts: new Date(), source: 'system', line });
  }

  /**
   * Follows a workload's output from where the stored lines end; does nothing when it is followed already. `isNew`: it has
   * just been started for the first time, so nothing of it is stored and nobody needs to look.
   */
  follow(workloadId: string, { isNew = false } = {}): void {
    if (this.#following.has(workloadId) || !this.#runtime.capabilities.logs) return;
    const abort = new AbortController();
    const done = this.#read(workloadId, isNew, abort.signal)
      .catch((error) => {
        if (!abort.signal.aborted) this.#logger.warn({ workloadId }, `its log cannot be read: ${messageOf(error)}`);
      })
      .finally(() => this.#following.delete(workloadId));
    this.#following.set(workloadId, { abort, done });
  }

  /** Waits until the output of an ended workload is read to its end, but not for ever. */
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
    for await (const { ts, line } of this.#runtime.logs(workloadId, { ...from, follow: true, signal })) {
      this.#add({ workloadId, ts, source: 'container', line: line.slice(0, MAX_LINE_CHARACTERS) });
      if (this.#buffer.length >= MAX_BUFFERED) await new Promise<void>((resolve) => this.#drained.push(resolve));
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
      const lines = this.#buffer.slice(0, 1_000);
      await appendLogLines(this.#pool, lines);
      this.#buffer = this.#buffer.slice(lines.length);
      for (const workloadId of new Set(lines.map((line) => line.workloadId))) this.#bus.publish('log', workloadId);
    }
    for (const resolve of this.#drained.splice(0)) resolve();
    return undefined;
  }
}
