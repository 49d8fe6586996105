import { expect, test } from 'vitest';
import { formatTick, timeTicks, valueTicks } from './ticks.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = new Date(2026, 10, 27, 9, 47, 13).getTime();

const timesOf = (spanMs: number) =>
  timeTicks(START, START + spanMs).map((at) => new Date(at).toTimeString().slice(0, 8));

test('times are round, and the last one leaves room for its label', () => {
  expect(timesOf(5 * MINUTE)).toEqual(['09:48:00', '09:49:00', '09:50:00', '09:51:00']);
  expect(timesOf(HOUR)).toEqual(['09:50:00', '10:00:00', '10:10:00', '10:20:00', '10:30:00', '10:40:00']);
  expect(timesOf(DAY)).toEqual(['12:00:00', '16:00:00', '20:00:00', '00:00:00', '04:00:00', '08:00:00']);
  expect(new Set(timesOf(30 * DAY))).toEqual(new Set(['00:00:00']));
  expect(timeTicks(START, START)).toEqual([]);
});

test.each([
  [0, undefined, ['0', '1']],
  [3, undefined, ['0', '1', '2', '3']],
  [7, undefined, ['0', '2', '4', '6', '8']],
  [1_740, undefined, ['0', '500', '1K', '1.5K', '2K']],
  [95, 'ms', ['0', '50 ms', '100 ms']],
  [830, 'ms', ['0', '0.5 s', '1 s']],
  [1_300, 'ms', ['0', '0.5 s', '1 s', '1.5 s']],
  [100_000, 'ms', ['0', '0.5 min', '1 min', '1.5 min', '2 min']],
  [170_000, 'ms', ['0', '1 min', '2 min', '3 min']],
  [3 * 3600, 's', ['0', '1 h', '2 h', '3 h']],
  [11 * 86_400, 's', ['0', '5 d', '10 d', '15 d']],
  [0.03, 'usd', ['$0', '$0.01', '$0.02', '$0.03']],
  [0.0012, 'usd', ['$0', '$0.0005', '$0.001', '$0.0015']],
  [42, 'usd', ['$0', '$20', '$40', '$60']],
] as const)('an axis up to %d %s has round values of one unit', (top, unit, expected) => {
  const ticks = valueTicks(top, unit, unit === undefined);
  expect(ticks.map((value) => formatTick(unit, value, ticks.at(-1)!))).toEqual(expected);
});
