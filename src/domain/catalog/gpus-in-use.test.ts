import { expect, test } from 'vitest';
import { type GpusInUse, subtractInUse } from './gpus-in-use.ts';

const entry = (gpuTypeId: string, total: number, more: object = {}) => ({
  pool: 'ADA_24',
  dataCenterId: 'LOCAL-1',
  gpuTypeId,
  total,
  ...more,
});
const use = (gpuTypeId: string | null, count: number, more: Partial<GpusInUse> = {}): GpusInUse => ({
  pool: 'ADA_24',
  dataCenterId: 'LOCAL-1',
  gpuTypeId,
  count,
  ...more,
});
const free = (entries: ReturnType<typeof entry>[], used: GpusInUse[]) =>
  subtractInUse(entries, used).map((one) => one.free);

test('GPUs in use are those of their type, wherever it is listed', () => {
  expect(free([entry('4090', 2), entry('L4', 2)], [use('L4', 2)])).toEqual([2, 0]);
});

test('what does not fit into one entry is in the next one of the type, then in any of the pool', () => {
  expect(free([entry('L4', 1), entry('4090', 2), entry('L4', 1)], [use('L4', 3)])).toEqual([0, 1, 0]);
});

test('an unknown type counts against its pool, in its data center only', () => {
  const entries = [entry('4090', 2), entry('4090', 2, { dataCenterId: 'EU' }), entry('L40', 2, { pool: 'ADA_48' })];
  expect(free(entries, [use(null, 1)])).toEqual([1, 2, 2]);
});

test('never below 0, and neither argument is changed', () => {
  const entries = [entry('4090', 1)];
  const used = [use('4090', 5)];
  expect(free(entries, used)).toEqual([0]);
  expect(used[0]!.count).toBe(5);
});
