import { expect, test } from 'vitest';
import { sparklinePath } from './sparkline.tsx';

test('the line runs from the left to the right, between the bottom and the largest value', () => {
  expect(sparklinePath([0, 5, 10], 20, 12)).toBe('M0 11L10 6L20 1');
});

test('zeros are a line at the bottom', () => {
  expect(sparklinePath([0, 0], 20, 12)).toBe('M0 11L20 11');
});

test('a missing value interrupts the line, and a value between two is a dot', () => {
  expect(sparklinePath([10, 10, null, 5, null], 40, 12)).toBe('M0 1L10 1M30 6L30 6');
  expect(sparklinePath([null, null], 20, 12)).toBe('');
});
