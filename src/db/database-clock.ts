import type { Clock } from '../core/clock.ts';
import { Loop, type NextRun } from '../core/flow/loop.ts';
import type { Logger } from '../core/logger.ts';
import type { Pool } from './pool.ts';

const SYNC_MS = 10_000;
/** A larger difference is a jump of one of the clocks, and is taken over only when the leader has dealt with it. */
const MAX_CORRECTION_MS = 2_000;
/** After as many syncs in a row a difference is taken over anyway: there may be no leader. */
const MAX_IGNORED = 3;

/**
 * The database's time, without a round trip: a monotonic clock of this process plus an offset that is measured now and then.
 * Times in rows are the database's, so this is what to compare them with: the clock of this machine may be off or jump.
 */
export class DatabaseClock implements Clock {
  readonly #pool: Pool;
  readonly #monotonic: Clock;
  readonly #loop: Loop;
  #offsetMs = Number.NaN;
  #ignored = 0;

  constructor(options: { pool: Pool; monotonic: Clock; logger: Logger }) {
    this.#pool = options.pool;
    this.#monotonic = options.monotonic;
    this.#loop = new Loop({
      name: 'database-clock',
      tickMs: SYNC_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  /** Whole milliseconds since 1970, as of the system clock. `adopt` must have resolved once. */
  now(): number {
    return Math.floor(this.#monotonic.now() + this.#offsetMs);
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Measures the offset and takes it over, whatever it is. */
  async adopt(): Promise<void> {
    this.#offsetMs = await this.#measure();
    this.#ignored = 0;
  }

  async #run(): Promise<NextRun | undefined> {
    const offsetMs = await this.#measure().catch(() => this.#offsetMs); // while the database is away, the old one holds
    const isJump = Math.abs(offsetMs - this.#offsetMs) > MAX_CORRECTION_MS;
    if (isJump && ++this.#ignored < MAX_IGNORED) return undefined;
    this.#offsetMs = offsetMs;
    this.#ignored = 0;
    return undefined;
  }

  async #measure(): Promise<number> {
    const askedAt = this.#monotonic.now();
    const result = await this.#pool.query<{ ms: number }>({
      name: 'database-time',
      text: 'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
    });
    return result.rows[0]!.ms - (askedAt + this.#monotonic.now()) / 2;
  }
}
