/**
 * Forecasts the cost of a month. Pure: the days and the time are arguments. The method is one that people can check with a pencil: what was
 * spent, and the average day for each day that is left.
 */
import { bucketStart } from './buckets.ts';
import { fromUnits } from './money.ts';

const DAY_MS = 86_400_000;
/** The last full days that the average is of: a week has each weekday once. */
export const FORECAST_DAYS = 7;
/** An average of fewer days says nothing about a month. */
export const LEAST_DAYS = 3;

export interface MonthFacts {
  /** Time until which usage is metered, in the month. */
  nowMs: number;
  /** Spent in the month so far, in units of 1e-12 USD. */
  spent: bigint;
  /** Cost of the last full days, newest first, without those before the first usage ever; at most `FORECAST_DAYS`. */
  days: readonly bigint[];
}

export interface Forecast {
  /** `2026-11`. */
  month: string;
  startMs: number;
  endMs: number;
  spent: string;
  /** Null with too few days. */
  forecast: string | null;
  /** If each day that is left costs as little, or as much, as the cheapest and the dearest of the days. */
  low: string | null;
  high: string | null;
  /** How many days the average is of. */
  basedOnDays: number;
  /** The method in words. */
  method: string;
}

/** Returns what the month that contains `nowMs` will cost. */
export function forecastMonth({ nowMs, spent, days }: MonthFacts): Forecast {
  const startMs = bucketStart('month', nowMs);
  const endMs = bucketStart('month', nowMs, 1);
  const leftMs = BigInt(endMs - nowMs);
  const after = (perDays: bigint, count: number) =>
    fromUnits(spent + (perDays * leftMs) / (BigInt(DAY_MS) * BigInt(count)));
  const isEnough = days.length >= LEAST_DAYS;
  const sum = days.reduce((all, day) => all + day, 0n);
  const sorted = [...days].sort((a, b) => (a < b ? -1 : Number(a > b)));
  return {
    month: new Date(startMs).toISOString().slice(0, 7),
    startMs,
    endMs,
    spent: fromUnits(spent),
    forecast: isEnough ? after(sum, days.length) : null,
    low: isEnough ? after(sorted[0]!, 1) : null,
    high: isEnough ? after(sorted.at(-1)!, 1) : null,
    basedOnDays: days.length,
    method: methodOf(days.length),
  };
}

function methodOf(days: number): string {
  if (days >= LEAST_DAYS) {
    return `What was spent so far, plus the average of the last ${days} full days (UTC) for each day that is left. The range takes the cheapest and the most expensive of these days instead.`;
  }
  const have =
    days === 0 ? 'there is no full day (UTC) with usage yet' : `there ${days === 1 ? 'is' : 'are'} only ${days}`;
  return `A forecast needs ${LEAST_DAYS} full days (UTC) since the first usage; ${have}.`;
}
