import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
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
export function budgetLoop(deps: Deps): Loop {
  const { pool, bus, logger } = deps;
  return new Loop({
    name: 'keep-budgets',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => [bus.subscribe('budget', wake)],
    runOnce: async () => {
      const notices = await recordNotices(pool);
      for (const notice of notices) await report(deps, notice);
      if (notices.length > 0) bus.publish('webhook', '');
      return undefined;
    },
  });
}

async function report({ pool, bus, logger }: Deps, notice: BudgetNotice): Promise<void> {
  const { budgetId, userId, endpointId, month, percent, amount, spent, isStopped } = notice;
  const fields = { budgetId, userId, ...(endpointId !== null && { endpointId }), month, percent, amount, spent };
  if (!isStopped) return logger.warn(fields, 'budget threshold passed');
  logger.warn(fields, 'budget used up: no more workers or pods are started');
  for (const id of await listBudgetedEndpoints(pool, notice)) bus.publish('endpoint', id);
}
