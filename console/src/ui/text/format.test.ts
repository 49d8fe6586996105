import { expect, test } from 'vitest';
import { formatCount, formatDate, formatDuration, formatPercent, formatRate, formatUsd, NO_VALUE } from './format.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test.each([
  [0, '0 ms'],
  [849.6, '850 ms'],
  [1_240, '1.2 s'],
  [59.9 * SECOND, '59 s'],
  [MINUTE, '1 min 0 s'],
  [2 * MINUTE - 1, '1 min 59 s'],
  [HOUR - 1, '59 min 59 s'],
  [2 * HOUR + 5 * MINUTE, '2 h 5 min'],
  [47 * HOUR, '47 h 0 min'],
  [76 * HOUR, '3 d 4 h'],
])('%d ms reads %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('small amounts keep four decimals, others two', () => {
  expect([0, 0.69, 0.0012, 1_234.5].map(formatUsd)).toEqual(['$0.00', '$0.69', '$0.0012', '$1,234.50']);
});

test('a share has one decimal, and its sign on the same line', () => {
  expect([0, 0.26, 12, 1_000].map(formatPercent)).toEqual([
    '0.0\u00a0%',
    '0.3\u00a0%',
    '12.0\u00a0%',
    '1,000.0\u00a0%',
  ]);
});

test('a missing time is a dash', () => {
  expect([formatDate(null), formatDate(undefined), formatDate('')]).toEqual([NO_VALUE, NO_VALUE, NO_VALUE]);
});

test('a count of one is singular', () => {
  expect([0, 1, 2].map((count) => formatCount(count, 'worker'))).toEqual(['0 workers', '1 worker', '2 workers']);
});

test.each([
  [0, NO_VALUE],
  [0.002, '<0.01'],
  [0.034, '0.03'],
  [4.24, '4.2'],
  [120.4, '120'],
])('%d requests per second read %s', (rate, text) => {
  expect(formatRate(rate)).toBe(text);
});
