import { expect, test } from 'vitest';
import { findRecords } from './find-records.ts';

const ITEMS = ['Greeter podyard/echo-js:dev', 'Resizer acme/resize:1'];
const find = (search: string) => findRecords(ITEMS, search, (item) => item);

test('the search matches any part of the text, ignoring case', () => {
  expect(find(' GREET ')).toEqual([ITEMS[0]]);
  expect(find('acme/')).toEqual([ITEMS[1]]);
  expect(find('nothing')).toEqual([]);
});

test('a blank search returns the same array', () => {
  expect(find('  ')).toBe(ITEMS);
});
