import { expect, test } from 'vitest';
import { missingIds } from './missing-ids.ts';

test('unknown and outdated ids are asked for, at most a hundred', () => {
  const known = new Map([
    ['a', '1'],
    ['b', '2'],
  ]);
  expect(missingIds(['a', 'b', 'c'], known, () => '2')).toEqual(['a', 'c']);
  const many = Array.from({ length: 150 }, (_, i) => `e${i}`);
  expect(missingIds(many, known, () => '2')).toEqual(many.slice(0, 100));
});
