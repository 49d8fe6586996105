/** Buckets in UTC; weeks start on Monday. Times are milliseconds since 1970. */
export const BUCKET_SIZES = ['hour', 'day', 'week', 'month', 'year'] as const;
export type BucketSize = (typeof BUCKET_SIZES)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** 1 January 1970 was a Thursday. */
const FIRST_MONDAY_MS = -3 * DAY_MS;

/** Returns the start of the bucket that contains `ms`, or of the bucket `after` buckets later. */
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

/** Whole buckets from `startMs` to `endMs`, exclusive. */
export interface BucketRange {
  size: BucketSize;
  startMs: number;
  endMs: number;
}

/** Returns the smallest range of whole buckets that covers `startMs` to `endMs`. */
export function snapToBuckets(size: BucketSize, startMs: number, endMs: number): BucketRange {
  const lastMs = bucketStart(size, endMs);
  return { size, startMs: bucketStart(size, startMs), endMs: lastMs === endMs ? endMs : bucketStart(size, endMs, 1) };
}

/** Returns the last `count` buckets up to the one that contains `nowMs`; none before the bucket that contains 1970. */
export function lastBuckets(size: BucketSize, count: number, nowMs: number): BucketRange {
  // Date.UTC maps years below 100 to the twentieth century.
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
