import { expect, test } from 'vitest';
import { drawnRange, pointsIn, readRange, withRange } from './chart-range.ts';

const POINTS = [0, 60_000, 120_000, 180_000].map((at) => ({ at }));

test('a part of time is written to the address beside what is there, read from it, and taken from it', () => {
  const range = { from: Date.parse('2026-11-26T10:05:00Z'), until: Date.parse('2026-11-26T10:20:00Z') };
  const params = withRange(new URLSearchParams('range=24h'), range);
  expect(String(params)).toBe('range=24h&from=2026-11-26T10%3A05%3A00Z&until=2026-11-26T10%3A20%3A00Z');
  expect(readRange(params)).toEqual(range);
  expect(String(withRange(params, null))).toBe('range=24h');
});

test.each(['', 'from=2026-11-26T10:05:00Z', 'from=x&until=y', 'from=2026-11-26T10:05:00Z&until=2026-11-26T10:05:00Z'])(
  '"%s" is no part of time',
  (text) => expect(readRange(new URLSearchParams(text))).toBeNull(),
);

test('a chart shows the points of the part, and all of them if the part has no two', () => {
  expect(pointsIn(POINTS, { from: 60_000, until: 120_000 })).toEqual([{ at: 60_000 }, { at: 120_000 }]);
  expect(pointsIn(POINTS, { from: 60_000, until: 61_000 })).toBe(POINTS);
  expect(pointsIn(POINTS, null)).toBe(POINTS);
});

test('a part is drawn from either end; a click is none', () => {
  expect(drawnRange(120_000, 0, POINTS)).toEqual({ from: 0, until: 120_000 });
  expect(drawnRange(60_000, 60_000, POINTS)).toBeNull();
});
