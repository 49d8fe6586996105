import { expect, test } from 'vitest';
import { parseRange } from './byte-range.ts';

test.each([
  ['bytes=0-3', { start: 0, end: 4 }],
  [' bytes=7- ', { start: 7, end: 10 }],
  ['bytes=-2', { start: 8, end: 10 }],
  ['bytes=-20', { start: 0, end: 10 }],
  ['bytes=5-500', { start: 5, end: 10 }],
  ['bytes=9-9', { start: 9, end: 10 }],
  ['bytes=10-', 'behind'],
  ['bytes=10-20', 'behind'],
  ['bytes=-0', 'behind'],
  ['bytes=-00', 'behind'],
  [undefined, null],
  ['bytes=-', null],
  ['bytes=4-3', null],
  ['bytes=0-1,4-5', null],
  ['bytes=a-b', null],
  ['bytes=12345678901234567-', null],
  ['lines=0-1', null],
])('%j of ten bytes is %j', (header, range) => {
  expect(parseRange(header, 10)).toEqual(range);
});

test('an empty content has no part', () => {
  expect(['bytes=0-', 'bytes=0-0', 'bytes=-5'].map((header) => parseRange(header, 0))).toEqual(Array(3).fill('behind'));
});
