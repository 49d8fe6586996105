import { expect, test } from 'vitest';
import { inPacks } from './packs.ts';

const KIB = 1024;
const file = (size: number, path = `${size}`) => ({ path, digest: path, size });
const sizes = (packs: { size: number }[][]) => packs.map((pack) => pack.map(({ size }) => size));

test('small files go together, up to 4 MiB and 1,000 of them, and a large one alone', () => {
  expect(inPacks([])).toEqual([]);
  expect(sizes(inPacks([file(1), file(256 * KIB + 1), file(2)]))).toEqual([[1, 2], [256 * KIB + 1]]);
  const quarters = inPacks(Array.from({ length: 17 }, () => file(256 * KIB)));
  expect(quarters.map(({ length }) => length)).toEqual([16, 1]);
  const tiny = inPacks(Array.from({ length: 2_001 }, () => file(0)));
  expect(tiny.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
});
