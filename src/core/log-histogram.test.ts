import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addPacked, type Buckets, observe, pack, percentile } from './log-histogram.ts';

const ms = fc.double({ min: 0.002, max: 86_400_000, noNaN: true });
const SHARES = [0.5, 0.95, 0.99];

function of(times: readonly number[]): Buckets {
  const buckets: Buckets = new Map();
  for (const time of times) observe(buckets, time);
  return buckets;
}

test('a percentile is within a fifth of the exact one, from microseconds to a day', () => {
  fc.assert(
    fc.property(fc.array(ms, { minLength: 1, maxLength: 200 }), (times) => {
      const sorted = times.toSorted((a, b) => a - b);
      for (const share of SHARES) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
        const found = percentile(of(times), share)!;
        expect(found).toBeGreaterThan(exact / 1.2);
        expect(found).toBeLessThan(exact * 1.2);
      }
    }),
  );
});

test('stored histograms add up to that of all times', () => {
  fc.assert(
    fc.property(fc.array(ms), fc.array(ms), (some, others) => {
      const sum: Buckets = new Map();
      addPacked(sum, pack(of(some)));
      addPacked(sum, pack(of(others))?.map(String) ?? null); // as the driver returns them
      expect(pack(sum)).toEqual(pack(of([...some, ...others])));
    }),
  );
});

test('nothing, negative times and years are counted without harm', () => {
  expect(pack(new Map())).toBeNull();
  expect(percentile(new Map(), 0.5)).toBeNull();
  expect(percentile(of([-5, 0]), 0.5)).toBeLessThanOrEqual(0.001);
  expect(percentile(of([1e15]), 0.5)).toBeGreaterThan(86_400_000);
});
