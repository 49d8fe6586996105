import { type Clock, monotonicClock, systemClock } from '../../core/clock.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { foldUsage, meterUsage, moveMark, SETTLE_MS } from '../../domain/billing/meter-usage.ts';
import { currentPrices } from '../../domain/billing/price-list.ts';

const MINUTE_MS = 60_000;
/** The database's clock may be a little behind this one. */
const MARGIN_MS = 100;

/** A time that the clock had between two moments of the monotonic one. */
interface Reading {
  askedAt: number;
  nowMs: number;
  answeredAt: number;
}

interface Options {
  pool: Pool;
  logger: Logger;
  clock?: Clock;
  monotonic?: Clock;
  onMetered?: () => void;
}

/**
 * Meters every minute's usage soon after the minute is over. Where the clock jumps, the time that passed counts. Without `clock`, the
 * database's time is read, as it is for the starts and ends of workers. `onMetered`: called after each span. For one term of a leader.
 */
export function usageLoop({ pool, logger, clock, monotonic = clock ?? monotonicClock, onMetered }: Options): Loop {
  let last: Reading | null = null;
  return new Loop({
    name: 'meter-usage',
    tickMs: MINUTE_MS,
    logger,
    runOnce: async () => {
      const reading = await readTime(pool, clock, monotonic);
      const jumped = last === null ? 0 : jumpedMinutes(last, reading);
      if (last !== null && jumped !== 0) {
        const before = new Date(last.nowMs);
        while (!(await meterUsage(pool, currentPrices(), before)));
        await moveMark(pool, last.nowMs, jumped);
        logger.warn(
          { jumpMs: jumped * MINUTE_MS },
          'the clock was set, or the machine slept: only the time that passed is charged',
        );
      }
      last = reading;
      const isUpToDate = await meterUsage(pool, currentPrices(), new Date(reading.nowMs));
      onMetered?.();
      if (!isUpToDate) return { inMs: 0 };
      const nowMs = (clock ?? systemClock).now();
      await foldUsage(pool, new Date(nowMs));
      return { inMs: MINUTE_MS - ((nowMs - SETTLE_MS) % MINUTE_MS) + MARGIN_MS };
    },
  });
}

async function readTime(pool: Pool, clock: Clock | undefined, monotonic: Clock): Promise<Reading> {
  const askedAt = monotonic.now();
  const nowMs = clock?.now() ?? (await databaseMs(pool));
  return { askedAt, nowMs, answeredAt: monotonic.now() };
}

async function databaseMs(pool: Pool): Promise<number> {
  const text = 'select extract(epoch from clock_timestamp())::float8 * 1000 as ms';
  const { rows } = await pool.query<{ ms: number }>({ name: 'database-time', text });
  return rows[0]!.ms;
}

/** Returns the minutes, rounded, by which the clock moved beyond the time that passed. */
function jumpedMinutes(before: Reading, after: Reading): number {
  const passedMs = after.answeredAt - before.askedAt; // at most
  return Math.round((after.nowMs - before.nowMs - passedMs) / MINUTE_MS);
}
