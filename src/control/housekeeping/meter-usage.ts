import { type Clock, systemClock } from '../../core/clock.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { foldUsage, meterUsage, SETTLE_MS } from '../../domain/billing/meter-usage.ts';
import { currentPrices } from '../../domain/billing/price-list.ts';

const MINUTE_MS = 60_000;
/** The database's clock may be a little behind this one. */
const MARGIN_MS = 100;

/**
 * Meters every minute's usage soon after the minute is over. Without `clock`, the database's time counts, as it does for the starts
 * and ends of workers. `onMetered`: called after each span.
 */
export function usageLoop({
  pool,
  logger,
  clock,
  onMetered,
}: {
  pool: Pool;
  logger: Logger;
  clock?: Clock;
  onMetered?: () => void;
}): Loop {
  return new Loop({
    name: 'meter-usage',
    tickMs: MINUTE_MS,
    logger,
    runOnce: async () => {
      const isUpToDate = await meterUsage(pool, currentPrices(), clock ? new Date(clock.now()) : null);
      onMetered?.();
      if (!isUpToDate) return { inMs: 0 };
      const nowMs = (clock ?? systemClock).now();
      await foldUsage(pool, new Date(nowMs));
      return { inMs: MINUTE_MS - ((nowMs - SETTLE_MS) % MINUTE_MS) + MARGIN_MS };
    },
  });
}
