import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BUCKET_SIZES, type BucketSize, bucketStart, countBuckets, lastBuckets, snapToBuckets } from './buckets.ts';

const size = fc.constantFrom(...BUCKET_SIZES);
const time = fc.integer({ min: 0, max: Date.UTC(8999, 0) });
const iso = (ms: number) => new Date(ms).toISOString();

test.each<[BucketSize, string, string]>([
  ['hour', '2026-03-04T12:00:00.000Z', '2026-03-04T13:00:00.000Z'],
  ['day', '2026-03-04T00:00:00.000Z', '2026-03-05T00:00:00.000Z'],
  ['week', '2026-03-02T00:00:00.000Z', '2026-03-09T00:00:00.000Z'],
  ['month', '2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'],
  ['year', '2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
])('a %s that holds a Wednesday noon begins at %s and ends at %s', (size, start, end) => {
  const ms = Date.parse('2026-03-04T12:34:56.789Z');
  expect([iso(bucketStart(size, ms)), iso(bucketStart(size, ms, 1))]).toEqual([start, end]);
});

test('weeks start on Monday', () => {
  fc.assert(
    fc.property(time, (ms) => {
      expect(new Date(bucketStart('week', ms)).getUTCDay()).toBe(1);
    }),
  );
});

test('buckets tile a range without gaps or overlaps, as many as counted', () => {
  fc.assert(
    fc.property(size, time, fc.integer({ min: 1, max: 400 * 3_600_000 * 24 }), (size, startMs, lengthMs) => {
      const range = snapToBuckets(size, startMs, startMs + lengthMs);
      let count = 0;
      let at = range.startMs;
      while (at < range.endMs && count < 500) {
        const end = bucketStart(size, at, 1);
        for (const inside of [at, end - 1, Math.floor((at + end) / 2)]) expect(bucketStart(size, inside)).toBe(at);
        expect(bucketStart(size, end)).toBe(end);
        at = end;
        count += 1;
      }
      if (count < 500) expect([at, count]).toEqual([range.endMs, countBuckets(range)]);
    }),
  );
});

test('a range covers the requested time and no other bucket', () => {
  fc.assert(
    fc.property(size, time, fc.integer({ min: 1, max: 1e12 }), (size, startMs, lengthMs) => {
      const endMs = startMs + lengthMs;
      const range = snapToBuckets(size, startMs, endMs);
      expect(range.startMs).toBeLessThanOrEqual(startMs);
      expect(bucketStart(size, range.startMs, 1)).toBeGreaterThan(startMs);
      expect(range.endMs).toBeGreaterThanOrEqual(endMs);
      expect(bucketStart(size, range.endMs - 1)).toBeLessThan(endMs);
    }),
  );
});

test('returns the requested number of last buckets, the current one included, back to 1970 at most', () => {
  const now = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) });
  fc.assert(
    fc.property(size, now, fc.integer({ min: 1, max: 10_000 }), (size, nowMs, count) => {
      const range = lastBuckets(size, count, nowMs);
      expect(range.startMs).toBeGreaterThanOrEqual(bucketStart(size, 0));
      expect(range.endMs).toBe(bucketStart(size, nowMs, 1));
      if (range.startMs > bucketStart(size, 0)) expect(countBuckets(range)).toBe(count);
    }),
  );
});
