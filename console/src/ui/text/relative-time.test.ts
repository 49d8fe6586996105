import { expect, test } from 'vitest';
import { exactTime, relativeTime } from './relative-time.ts';

const NOW = Date.parse('2026-08-20T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  [0, 'just now'],
  [-4_999, 'just now'],
  [4_999, 'just now'],
  [-5_000, '5 s ago'],
  [-59_999, '59 s ago'],
  [-MINUTE, '1 min ago'],
  [-HOUR + 1, '59 min ago'],
  [-HOUR, '1 h ago'],
  [-47 * HOUR, '47 h ago'],
  [-48 * HOUR, '2 d ago'],
  [3 * HOUR, 'in 3 h'],
  [90_000, 'in 1 min'],
])('a distance of %i ms is “%s”', (distance, text) => {
  expect(relativeTime(NOW + distance, NOW)).toBe(text);
});

test('a time a month away is a date', () => {
  expect(relativeTime(Date.parse('2026-03-05T12:00:00Z'), NOW)).toContain('2026');
  expect(relativeTime(Date.parse('2027-03-05T12:00:00Z'), NOW)).toContain('2027');
});

test('the exact time has seconds', () => {
  expect(exactTime(Date.parse('2026-08-20T12:34:56Z'))).toContain('34:56');
});
