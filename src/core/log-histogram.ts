/**
 * Times in buckets whose bounds grow by the same factor, from a microsecond to weeks. Histograms of processes, minutes and
 * endpoints add up bucket by bucket; a percentile is off by at most a tenth.
 */
const BUCKETS_PER_DOUBLING = 4;
/** About eleven weeks. */
const MAX_BUCKET = 170;
/** A bucket and its count are stored as one number, `bucket << 32 | count`. */
const COUNT_RANGE = 2 ** 32;

/** The counts by bucket. Bucket n holds times up to 2 ** (n / 4) µs. */
export type Buckets = Map<number, number>;

export function observe(buckets: Buckets, ms: number): void {
  const bucket = ms <= 0.001 ? 0 : Math.min(MAX_BUCKET, Math.ceil(Math.log2(ms * 1000) * BUCKETS_PER_DOUBLING));
  buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
}

/** SQL for the bucket of a time in milliseconds. */
export const BUCKET_SQL = (ms: string) =>
  `case when ${ms} <= 0.001 then 0 else least(${MAX_BUCKET}, ceil(ln(${ms} * 1000) / ln(2) * ${BUCKETS_PER_DOUBLING}))::int end`;

/** As it is stored; null when nothing was counted. */
export function pack(buckets: Buckets): number[] | null {
  if (buckets.size === 0) return null;
  return [...buckets].sort(([a], [b]) => a - b).map(([bucket, count]) => bucket * COUNT_RANGE + count);
}

/** Adds a stored histogram. */
export function addPacked(buckets: Buckets, packed: readonly (number | string)[] | null): void {
  for (const entry of packed ?? []) {
    const bucket = Math.floor(Number(entry) / COUNT_RANGE);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + (Number(entry) % COUNT_RANGE));
  }
}

/** Returns the time in ms below which this share of the times lies, interpolated within its bucket; null without any. */
export function percentile(buckets: Buckets, share: number): number | null {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const wanted = share * sorted.reduce((sum, [, count]) => sum + count, 0);
  let before = 0;
  for (const [bucket, count] of sorted) {
    if (before + count >= wanted && count > 0) {
      const within = bucket - 1 + (wanted - before) / count;
      return 2 ** (within / BUCKETS_PER_DOUBLING) / 1000;
    }
    before += count;
  }
  return null;
}
