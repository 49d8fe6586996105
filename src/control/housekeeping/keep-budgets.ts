import type { Logger } from '../../core/logger.ts';
import { Loop } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { listBudgetedEndpoints } from '../../domain/budgets/budget-store.ts';
import { type BudgetNotice, recordNotices } from '../../domain/budgets/record-notices.ts';

/** The meter wakes the loop after each minute; this is for when it does not. */
const TICK_MS = 60_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
}

/**
 * Compares what was metered with the budgets, and reports the thresholds that were passed. It stops nothing itself: the scaler and
 * the placement of pods ask the table, which knows at once when a budget was raised or its month is over.
 */
export class BudgetKeeper {
  readonly #deps: Deps;
  readonly #loop: Loop;
  #unsubscribe: (() => void) | undefined;

  constructor({ pool, bus, logger }: Deps) {
    this.#deps = { pool, bus, logger };
    this.#loop = new Loop({ name: 'keep-budgets', tickMs: TICK_MS, logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#unsubscribe = this.#deps.bus.subscribe('budget', () => this.#loop.wake());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#loop.stop();
  }

  /** Runs soon: more was metered. */
  wake(): void {
    this.#loop.wake();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<undefined> {
    const notices = await recordNotices(this.#deps.pool);
    for (const notice of notices) await this.#report(notice);
    if (notices.length > 0) this.#deps.bus.publish('webhook', '');
    return undefined;
  }

  async #report(notice: BudgetNotice): Promise<void> {
    const { pool, bus, logger } = this.#deps;
    const { budgetId, userId, endpointId, month, percent, amount, spent, isStopped } = notice;
    const fields = { budgetId, userId, ...(endpointId !== null && { endpointId }), month, percent, amount, spent };
    if (!isStopped) return logger.warn(fields, 'budget threshold passed');
    logger.warn(fields, 'budget used up: no more workers or pods are started');
    for (const id of await listBudgetedEndpoints(pool, notice)) bus.publish('endpoint', id);
  }
}
