import { expect, test } from 'vitest';
import { judgeGrowth } from './flatness.ts';

const TOLERANCE = { share: 0.2, amount: 4 };

test('a figure that grows only in the first tenth is flat', () => {
  expect(judgeGrowth([10, 100, 100, 100, 100, 100, 100, 100, 100, 100], TOLERANCE)).toMatchObject({
    growth: 0,
    isFlat: true,
  });
});

test('a steady leak is not flat', () => {
  expect(judgeGrowth([90, 100, 110, 120, 130, 140, 150, 160, 170, 180], TOLERANCE)).toMatchObject({
    growth: 60,
    isFlat: false,
  });
});

test('growth within the amount is flat, whatever its share', () => {
  expect(judgeGrowth([1, 1, 1, 1, 2, 3, 4, 5, 5, 5], TOLERANCE).isFlat).toBe(true);
  expect(judgeGrowth([1, 1, 1, 1, 2, 3, 4, 6, 6, 6], TOLERANCE).isFlat).toBe(false);
});

test('one tenth with a peak does not decide', () => {
  expect(judgeGrowth([10, 100, 100, 100, 100, 100, 100, 100, 900, 100], TOLERANCE).isFlat).toBe(true);
});
