import { type Clock, systemClock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Pool } from '../../db/pool.ts';
import { foldUsage, meterUsage, SETTLE_MS } from '../../domain/billing/meter-usage.ts';
import { currentPrices } from '../../domain/billing/price-list.ts';

const MINUTE_MS = 60_000;
/** The database's clock may be a little behind this one. */
const MARGIN_MS = 100;

/** Meters every minute's usage soon after the minute is over. */
export class UsageMeter {
  readonly #pool: Pool;
  readonly #clock: Clock | undefined;
  readonly #onMetered: () => void;
  readonly #loop: Loop;

  /** Without `clock`, the database's time counts, as it does for the starts and ends of workers. `onMetered`: after each span. */
  constructor(deps: { pool: Pool; logger: Logger; clock?: Clock; onMetered?: () => void }) {
    const { pool, logger, clock, onMetered = () => {} } = deps;
    this.#onMetered = onMetered;
    this.#pool = pool;
    this.#clock = clock;
    this.#loop = new Loop({ name: 'meter-usage', tickMs: MINUTE_MS, logger, runOnce: () => this.#run() });
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
    this.#onMetered();
    if (!isUpToDate) return { inMs: 0 };
    const nowMs = (this.#clock ?? systemClock).now();
    await foldUsage(this.#pool, new Date(nowMs));
    return { inMs: MINUTE_MS - ((nowMs - SETTLE_MS) % MINUTE_MS) + MARGIN_MS };
  }
}
