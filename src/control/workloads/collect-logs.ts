import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_LOG_RATES, type LogRates } from '../../config/limit-settings.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { isReported } from '../../core/errors.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { appendLogLines, type NewLogLine } from '../../domain/logs/append-log-lines.ts';
import { findLastStored, type LastStored } from '../../domain/logs/find-last-stored.ts';
import { type LogLevel, recognizeLevel } from '../../domain/logs/log-level.ts';
import { findLogOwners, type LogOwner } from '../../domain/logs/log-owners.ts';
import { findKeptSince } from '../../domain/logs/log-segments.ts';
import type { LogLine, Runtime } from '../../runtimes/runtime.ts';
import { LogBuckets, type LogGate, lineCost } from './log-gate.ts';
import { UserLogDays } from './user-log-days.ts';

const FLUSH_MS = 100;
const FLUSH_BATCH = 1_000;
const MAX_LINE_CHARACTERS = 16_384;
/** Above this, readers wait, and with them the engine's pipes: a workload that floods its log slows down only itself. */
const MAX_BUFFERED = 10_000;
/** While lines are dropped, at most 8 MiB a second are read: dropping must not take the processor from others. */
const DROPPED_AT_ONCE_BYTES = 256 * 2 ** 10;
const DROP_PAUSE_MS = 32;
/** The size of a line on disk besides its text, with indexes. */
const ROW_BYTES = 200;
/** How often drops that have ended are reported, when no line of the workload comes. */
const REPORT_MS = 1_000;

interface Buffered {
  line: NewLogLine;
  /** Its bytes, counted for its user today; absent for `system` lines. */
  cost?: { userId: UserId; bytes: number };
}

interface Followed {
  workloadId: string;
  gate: LogGate;
  owner: LogOwner | undefined;
  /** The level of the last line that was stored; the lines of a traceback continue it. */
  level: LogLevel | null;
}

interface Deps {
  pool: Pool;
  bus: Bus;
  runtime: Runtime;
  logger: Logger;
  /** Called with the size of lines that were stored. */
  onStored?: (bytes: number) => void;
}

/**
 * Follows the output of workloads and stores it in batches, with `system` lines about their life. Of a flood, only what the
 * gate of the workload passes is stored, with one line about the rest.
 */
export class LogCollector {
  readonly #deps: Deps;
  readonly #clock: Clock;
  readonly #loop: Loop;
  readonly #following = new Map<string, { abort: AbortController; done: Promise<void> }>();
  /** In batches: a new leader follows thousands of workloads at once. */
  readonly #lastStored: Batcher<string, LastStored | undefined>;
  readonly #owners: Batcher<string, LogOwner | undefined>;
  readonly #buckets: LogBuckets;
  readonly #days: UserLogDays;
  readonly #seldom: SeldomLog;
  readonly #dropping = new Set<Followed>();
  #reportTimer: NodeJS.Timeout | undefined;
  #buffer: Buffered[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  #waitingReaders: (() => void)[] = [];

  constructor({ clock = systemClock, rates = DEFAULT_LOG_RATES, ...deps }: Deps & { clock?: Clock; rates?: LogRates }) {
    this.#deps = deps;
    this.#seldom = new SeldomLog(deps.logger);
    this.#clock = clock;
    this.#buckets = new LogBuckets(rates);
    this.#days = new UserLogDays({ ...deps, now: () => clock.now() });
    this.#owners = new Batcher({
      lanes: 1,
      maxSize: 500,
      isCallFault: () => false,
      flush: async (ids) => {
        const found = await findLogOwners(deps.pool, ids);
        return ids.map((id) => found.get(id));
      },
    });
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
    clearInterval(this.#reportTimer);
    this.#days.close();
    await this.#loop.stop();
    this.#seldom.close();
    await this.#flush().catch(() => {});
  }

  /** Adds a line about the workload's life, for its user. */
  system(workloadId: string, line: string): void {
    const level = recognizeLevel(line, null);
    this.#add({ line: { workloadId, ts: new Date(this.#clock.now()), source: 'system', line, level } });
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
        if (abort.signal.aborted || isReported(error)) return;
        this.#seldom.warn({ workloadId, err: error }, 'reading a log failed');
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
    const [owner, from] = await Promise.all([this.#owners.run(workloadId), isNew ? {} : this.#findStart(workloadId)]);
    const user = owner === undefined ? { limit: null, usedToday: () => 0 } : await this.#days.find(owner.userId);
    const group = owner?.group ?? workloadId;
    const followed: Followed = {
      workloadId,
      owner,
      level: null,
      gate: this.#buckets.open(group, user, this.#clock.now()),
    };
    try {
      await this.#follow(followed, this.#deps.runtime.logs(workloadId, { ...from, follow: true, signal }));
    } finally {
      this.#buckets.release(group);
      this.#dropping.delete(followed);
    }
  }

  /** Where the stored lines end. If there are none, the workload's older lines may have been removed: they stay so. */
  async #findStart(workloadId: string): Promise<{ since?: Date; seen?: number }> {
    const last = await this.#lastStored.run(workloadId);
    if (last) return { since: last.ts, seen: last.seen };
    const keptSince = await findKeptSince(this.#deps.pool);
    return keptSince === null ? {} : { since: keptSince };
  }

  async #follow(followed: Followed, output: AsyncIterable<LogLine>): Promise<void> {
    let droppedBytes = 0;
    for await (const { ts, line: whole } of output) {
      const line = whole.slice(0, MAX_LINE_CHARACTERS);
      const { isStored, notices } = followed.gate.pass({ ts, line }, this.#clock.now());
      for (const notice of notices) this.system(followed.workloadId, notice);
      if (isStored) this.#addOutput(followed, { ts, line });
      else {
        this.#reportLater(followed);
        droppedBytes += lineCost(whole);
      }
      if (this.#buffer.length >= MAX_BUFFERED) await new Promise<void>((resolve) => this.#waitingReaders.push(resolve));
      if (droppedBytes < DROPPED_AT_ONCE_BYTES) continue;
      droppedBytes = 0;
      await sleep(DROP_PAUSE_MS);
    }
    const { notices, last } = followed.gate.end(this.#clock.now());
    for (const notice of notices) this.system(followed.workloadId, notice);
    for (const line of last) this.#addOutput(followed, line);
  }

  #addOutput(followed: Followed, { ts, line }: LogLine): void {
    const { workloadId, owner } = followed;
    const level = recognizeLevel(line, followed.level);
    followed.level = level;
    const entry: Buffered = { line: { workloadId, ts, source: 'container', line, level } };
    if (owner) {
      entry.cost = { userId: owner.userId, bytes: lineCost(line) };
      this.#days.add(owner.userId, entry.cost.bytes, this.#clock.now());
    }
    this.#add(entry);
  }

  /** Reports what was dropped once the drop is over, even if the workload says nothing more. */
  #reportLater(followed: Followed): void {
    this.#dropping.add(followed);
    this.#reportTimer ??= setInterval(() => this.#report(), REPORT_MS).unref();
  }

  #report(): void {
    for (const followed of this.#dropping) {
      for (const notice of followed.gate.poll(this.#clock.now())) this.system(followed.workloadId, notice);
      if (!followed.gate.isDropping) this.#dropping.delete(followed);
    }
    if (this.#dropping.size > 0) return;
    clearInterval(this.#reportTimer);
    this.#reportTimer = undefined;
  }

  #add(entry: Buffered): void {
    this.#buffer.push(entry);
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      this.#loop.wake();
    }, FLUSH_MS);
  }

  async #flush(): Promise<undefined> {
    await this.#days.refresh(this.#clock.now());
    while (this.#buffer.length > 0) {
      const entries = this.#buffer.slice(0, FLUSH_BATCH);
      const lines = entries.map(({ line }) => line);
      await appendLogLines(this.#deps.pool, lines, usageOf(entries));
      this.#buffer = this.#buffer.slice(lines.length);
      this.#deps.onStored?.(lines.reduce((sum, { line }) => sum + ROW_BYTES + line.length, 0));
      for (const workloadId of new Set(lines.map((line) => line.workloadId))) this.#deps.bus.publish('log', workloadId);
    }
    for (const resolve of this.#waitingReaders.splice(0)) resolve();
    return undefined;
  }
}

/** Adds up what lines count for their users. */
function usageOf(entries: readonly Buffered[]): Map<UserId, number> {
  const usage = new Map<UserId, number>();
  for (const { cost } of entries) if (cost) usage.set(cost.userId, (usage.get(cost.userId) ?? 0) + cost.bytes);
  return usage;
}
