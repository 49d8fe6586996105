import { expect, test } from 'vitest';
import { countStates, findRecords, parseSort, sortRecords, sortText } from './select-records.ts';

const DEFAULT = { key: 'name', isDescending: false };

test('a sort is read from the address and written to it; another text is the default', () => {
  expect(parseSort('-cost', ['name', 'cost'], DEFAULT)).toEqual({ key: 'cost', isDescending: true });
  expect(parseSort('cost', ['name', 'cost'], DEFAULT)).toEqual({ key: 'cost', isDescending: false });
  for (const text of [null, '', '-', '-size', 'size']) expect(parseSort(text, ['name', 'cost'], DEFAULT)).toBe(DEFAULT);
  expect(sortText({ key: 'cost', isDescending: true })).toBe('-cost');
});

test('texts are sorted as people read them, numbers in them by size', () => {
  expect(sortRecords(['b10', 'B9', 'a', 'ä'], (text) => text, false)).toEqual(['a', 'ä', 'B9', 'b10']);
});

test('records without a value come last in both directions, and equal ones keep their order', () => {
  const items = [
    { id: 1, value: null },
    { id: 2, value: 5 },
    { id: 3, value: 7 },
    { id: 4, value: 5 },
  ];
  const ids = (isDescending: boolean) => sortRecords(items, ({ value }) => value, isDescending).map(({ id }) => id);
  expect(ids(false)).toEqual([2, 4, 3, 1]);
  expect(ids(true)).toEqual([3, 2, 4, 1]);
});

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

test('states are counted in their order, and one that nobody knows comes last', () => {
  const states = ['NEW', 'ACTIVE', 'FAILED', 'ACTIVE'];
  expect(countStates(states, (state) => state, ['FAILED', 'ACTIVE'])).toEqual([
    { state: 'FAILED', count: 1 },
    { state: 'ACTIVE', count: 2 },
    { state: 'NEW', count: 1 },
  ]);
});
