import { expect, test } from 'vitest';
import { BoundedMap, BoundedSet } from './bounded-map.ts';

test('a map at its limit evicts its oldest entry for a new key', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('c', 3);
  expect([...map]).toEqual([
    ['b', 2],
    ['c', 3],
  ]);
});

test('a new value for a known key evicts nothing', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3);
  expect([...map]).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
});

test('a set at its limit evicts its oldest member for a new one, and none for a known one', () => {
  const set = new BoundedSet<string>(2).add('a').add('b').add('b').add('c');
  expect([...set]).toEqual(['b', 'c']);
});
