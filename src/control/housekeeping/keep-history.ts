import { type Clock, systemClock } from '../../core/clock.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { deleteOldHistory, foldHistory, SETTLE_MS, writeHistory } from '../../domain/history/write-history.ts';

const MINUTE_MS = 60_000;
/** After the usage of the minute, which is metered at SETTLE_MS too; a minute that comes later is read with the next one. */
const MARGIN_MS = 1_500;
/** Deletions per run: twice what is written in one. */
const MAX_DELETIONS = 4;

/**
 * Writes each minute of the history soon after it is over, folds hours, and deletes what charts no longer reach. Without `clock`,
 * the database's time counts, as it does for what is counted.
 */
export function historyLoop({ pool, logger, clock }: { pool: Pool; logger: Logger; clock?: Clock }): Loop {
  return new Loop({
    name: 'keep-history',
    tickMs: MINUTE_MS,
    logger,
    runOnce: async () => {
      await writeHistory(pool, clock ? new Date(clock.now()) : null);
      if (await foldHistory(pool)) return { inMs: 0 };
      for (let i = 0; i < MAX_DELETIONS && (await deleteOldHistory(pool)); i++);
      const nowMs = (clock ?? systemClock).now();
      return { inMs: MINUTE_MS - ((nowMs - SETTLE_MS) % MINUTE_MS) + MARGIN_MS };
    },
  });
}
