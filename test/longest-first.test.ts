import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LONG, spread } from './longest-first.ts';

test('each file that is to start first exists', () => {
  expect(LONG.filter((file) => !existsSync(file))).toEqual([]);
});

test('files that take turns begin at even distances', () => {
  expect(spread(['A', 'B', 'C'], [1, 2, 3, 4, 5, 6, 7] as unknown[])).toEqual(['A', 1, 2, 'B', 3, 4, 5, 'C', 6, 7]);
  expect(spread(['A', 'B'], [])).toEqual(['A', 'B']);
  expect(spread([], [1, 2])).toEqual([1, 2]);
});
