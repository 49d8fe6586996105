import { expect, test } from 'vitest';
import { findRecords } from './find-records.ts';

const ITEMS = ['Greeter podyard/echo-js:dev', 'Resizer acme/resize:1'];
const find = (search: string) => findRecords(ITEMS, search, (item) => item);

test('records are found by any part of their text, whatever its case', () => {
  expect(find(' GREET ')).toEqual([ITEMS[0]]);
  expect(find('acme/')).toEqual([ITEMS[1]]);
  expect(find('nothing')).toEqual([]);
});

test('a blank search returns the very same list', () => {
  expect(find('  ')).toBe(ITEMS);
});
