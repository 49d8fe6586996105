import { expect, test } from 'vitest';
import { nextRow } from './use-row-keys.ts';

test.each([
  ['j', null, 0],
  ['k', null, 0],
  ['j', 0, 1],
  ['ArrowDown', 1, 2],
  ['j', 2, 2],
  ['k', 2, 1],
  ['ArrowUp', 0, 0],
  ['Home', 2, 0],
  ['End', 0, 2],
  ['x', 1, null],
])('%s from row %s of three moves to row %s', (key, current, next) => {
  expect(nextRow(key, current, 3)).toBe(next);
});

test('an empty table has no next row', () => {
  expect(nextRow('j', null, 0)).toBeNull();
});
