/** Buckets are UTC's: hours, days, weeks that start on Monday, months, years. Times are milliseconds since 1970. */
export const BUCKET_SIZES = ['hour', 'day', 'week', 'month', 'year'] as const;
export type BucketSize = (typeof BUCKET_SIZES)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** 1970 began on a Thursday, three days after a Monday. */
const FIRST_MONDAY_MS = -3 * DAY_MS;

/** Start of the bucket that holds `ms`, or of the one so many buckets after it. */
export function bucketStart(size: BucketSize, ms: number, after = 0): number {
  const date = new Date(ms);
  switch (size) {
    case 'hour':
      return (Math.floor(ms / HOUR_MS) + after) * HOUR_MS;
    case 'day':
      return (Math.floor(ms / DAY_MS) + after) * DAY_MS;
    case 'week':
      return (Math.floor((ms - FIRST_MONDAY_MS) / WEEK_MS) + after) * WEEK_MS + FIRST_MONDAY_MS;
    case 'month':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + after);
    case 'year':
      return Date.UTC(date.getUTCFullYear() + after, 0);
  }
}

/** Whole buckets from `startMs` until `endMs`, which is not part of them. */
export interface BucketRange {
  size: BucketSize;
  startMs: number;
  endMs: number;
}

/** The fewest whole buckets that hold everything from `startMs` until `endMs`. */
export function snapToBuckets(size: BucketSize, startMs: number, endMs: number): BucketRange {
  const lastMs = bucketStart(size, endMs);
  return { size, startMs: bucketStart(size, startMs), endMs: lastMs === endMs ? endMs : bucketStart(size, endMs, 1) };
}

/** The bucket that holds `nowMs` and those before it, `count` in all; none begins before the one that 1970 began in. */
export function lastBuckets(size: BucketSize, count: number, nowMs: number): BucketRange {
  // Date.UTC would take a year below 100 for one of the twentieth century.
  const before = size === 'year' ? Math.min(count - 1, new Date(nowMs).getUTCFullYear() - 1970) : count - 1;
  const startMs = Math.max(bucketStart(size, 0), bucketStart(size, nowMs, -before));
  return { size, startMs, endMs: bucketStart(size, nowMs, 1) };
}

export function countBuckets(range: BucketRange): number {
  const from = new Date(range.startMs);
  const until = new Date(range.endMs);
  const years = until.getUTCFullYear() - from.getUTCFullYear();
  const spanMs = range.endMs - range.startMs;
  switch (range.size) {
    case 'hour':
      return spanMs / HOUR_MS;
    case 'day':
      return spanMs / DAY_MS;
    case 'week':
      return spanMs / WEEK_MS;
    case 'month':
      return years * 12 + until.getUTCMonth() - from.getUTCMonth();
    case 'year':
      return years;
  }
}
