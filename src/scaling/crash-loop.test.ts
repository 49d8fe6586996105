import { expect, test } from 'vitest';
import { nextStartAt } from './start-record.ts';

test.each([0, 1])('after %i failed starts the next one does not wait', (failures) => {
  expect(nextStartAt(failures, 1000)).toBe(1000);
});

test.each([
  [2, 1],
  [3, 2],
  [4, 4],
  [9, 128],
  [10, 256],
  [11, 300],
  [1_000_000, 300],
])('after %i failed starts the next one waits for %i s', (failures, seconds) => {
  expect(nextStartAt(failures, 1000)).toBe(1000 + seconds * 1000);
});
