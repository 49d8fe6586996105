import { expect, test } from 'vitest';
import { chooseCpu, cpuCapacities, describeLack, slotsOf, toSlotHolder } from './cpu-slots.ts';

const GIB = 2 ** 30;
const place = { dataCenterId: 'LOCAL-1', cpus: 8, memoryBytes: 32 * GIB };
const cpu = (vcpuCount: number, memory: number, id = 'cpu3c') => ({ id, vcpuCount, memory });

test.each([
  ['as many vCPUs, while its memory is no more than their part', cpu(2, 8), 2],
  ['what its memory needs where that is more', cpu(2, 16), 4],
  ['the rest of a slot too', cpu(2, 9), 3],
])('a worker takes %s', (_, one, slots) => {
  expect(slotsOf(one, place)).toBe(slots);
});

test('what is in use is subtracted where it is, never below 0; without a known place, from the first', () => {
  const two = [place, { ...place, dataCenterId: 'EU-RO-1', cpus: 3.9 }];
  const used = [
    { cpu: cpu(2, 4), dataCenterId: 'LOCAL-1', count: 3 },
    { cpu: cpu(2, 4), dataCenterId: null, count: 1 },
    { cpu: cpu(4, 8), dataCenterId: 'EU-RO-1', count: 1 },
  ];
  expect(cpuCapacities(two, used).map(({ total, free }) => [total, free])).toEqual([
    [8, 0],
    [3, 0],
  ]);
});

test('the first of the selection that fits now is chosen; else the smallest', () => {
  const selection = [cpu(8, 16), cpu(2, 4, 'cpu5c')] as const;
  const free = (used: number) => cpuCapacities([place], [{ cpu: cpu(1, 2), dataCenterId: null, count: used }]);
  expect(chooseCpu(selection, [], [place], free(0)).cpu.id).toBe('cpu3c');
  expect(chooseCpu(selection, [], [place], free(1)).cpu.id).toBe('cpu5c');
  expect(chooseCpu(selection, [], [place], free(8)).cpu.id).toBe('cpu5c');
  expect(chooseCpu(selection, ['US-TX-1'], [place], free(0)).cpu.id).toBe('cpu5c');
});

test('what is missing is said with figures', () => {
  const capacities = cpuCapacities([place], [{ cpu: cpu(2, 4), dataCenterId: 'LOCAL-1', count: 3 }]);
  const wish = chooseCpu([cpu(4, 8)], ['LOCAL-1'], [place], capacities);
  expect(describeLack(wish, [place], capacities)).toBe(
    'no capacity: it needs 4 vCPUs with 8 GB (cpu3c) in LOCAL-1; free are 2 of 8 vCPUs, with 4 GB each',
  );
});

test('a worker without a place holds nothing', () => {
  expect(toSlotHolder({ cpu: null, dataCenterId: null }, [place]).count).toBe(0);
  expect(toSlotHolder({ cpu: cpu(2, 16), dataCenterId: 'LOCAL-1' }, [place])).toMatchObject({ count: 4, pool: 'CPU' });
});
