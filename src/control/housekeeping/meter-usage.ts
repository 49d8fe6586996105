import { type Clock, systemClock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Pool } from '../../db/pool.ts';
import { foldUsage, meterUsage, SETTLE_MS } from '../../domain/billing/meter-usage.ts';
import { currentPrices } from '../../domain/billing/price-list.ts';

const MINUTE_MS = 60_000;

/** Writes down what every minute cost, soon after it is over. */
export class UsageMeter {
  readonly #pool: Pool;
  readonly #clock: Clock | undefined;
  readonly #loop: Loop;

  /** `clock` absent: the database's time counts, by which starts and ends of workers are written too. */
  constructor(options: { pool: Pool; logger: Logger; clock?: Clock }) {
    this.#pool = options.pool;
    this.#clock = options.clock;
    this.#loop = new Loop({
      name: 'meter-usage',
      tickMs: MINUTE_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
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

  async #run(): Promise<NextRun> {
    const now = this.#clock ? new Date(this.#clock.now()) : null;
    const isUpToDate = await meterUsage(this.#pool, currentPrices(), now);
    const nowMs = (this.#clock ?? systemClock).now();
    if (!isUpToDate) return { atMs: nowMs };
    await foldUsage(this.#pool, new Date(nowMs));
    return { atMs: Math.floor((nowMs - SETTLE_MS) / MINUTE_MS + 1) * MINUTE_MS + SETTLE_MS + 100 };
  }
}
