import type { Clock } from '../../core/clock.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { sqlState } from '../../db/sql-state.ts';
import { bytesUntilNextLook, decideSegments, type LogLimits } from '../../domain/logs/decide-segments.ts';
import {
  beginLogSegment,
  dropLogSegment,
  listLogSegments,
  readLastLogSeq,
  readSegmentBytes,
} from '../../domain/logs/log-segments.ts';

const TICK_MS = 60_000;
/** While a backup reads the lines, for one. */
const LOCKED_PAUSE_MS = 5_000;
const LOCK_NOT_AVAILABLE = '55P03';

interface Deps {
  pool: Pool;
  clock: Clock;
  logger: Logger;
  limits: LogLimits;
  /** Free space of the disk that the lines are on; null: it cannot be known. */
  readFreeBytes: (() => Promise<number>) | null;
}

/** Keeps log lines within their time and size: the oldest go first, a segment at a time (docs/decisions/0083-log-segments.md). */
export class LogKeeper {
  readonly #deps: Deps;
  readonly #loop: Loop;
  #storedBytes = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#loop = new Loop({ name: 'keep-logs', tickMs: TICK_MS, logger: deps.logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Counts lines that were stored: after so many, the sizes are read at once. */
  countStored(bytes: number): void {
    this.#storedBytes += bytes;
    if (this.#storedBytes >= bytesUntilNextLook(this.#deps.limits.maxBytes)) this.#loop.wake();
  }

  async #run(): Promise<NextRun> {
    const { pool, clock, limits, readFreeBytes } = this.#deps;
    this.#storedBytes = 0;
    const bytes = await readSegmentBytes(pool);
    const segments = (await listLogSegments(pool)).map((segment, i) => ({ ...segment, bytes: bytes[i] ?? 0 }));
    const lastSeq = await readLastLogSeq(pool);
    const freeBytes = (await readFreeBytes?.()) ?? null;
    const { drop, begins } = decideSegments({ segments, lastSeq, nowMs: clock.now(), freeBytes }, limits);
    try {
      if (begins) await beginLogSegment(pool);
      for (const firstSeq of drop) await dropLogSegment(pool, { firstSeq });
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      return { inMs: LOCKED_PAUSE_MS };
    }
    return {};
  }
}
