import { expect, test } from 'vitest';
import { dataCentersFor, type PoolCapacity, placeWorker } from './place-worker.ts';

const at = (pool: string, dataCenterId: string, free: number, total = 4): PoolCapacity => ({
  pool,
  gpuTypeId: `type of ${pool}`,
  dataCenterId,
  total,
  free,
});
const wanted = (pools: string[], count = 1, dataCenterIds: string[] = []) => ({ pools, count, dataCenterIds });

test('the first listed pool with enough free GPUs wins, even if a later one has more', () => {
  const capacities = [at('B', 'DC-1', 4), at('A', 'DC-1', 1)];
  expect(placeWorker(wanted(['A', 'B']), capacities)).toEqual({
    isPlaced: true,
    pool: 'A',
    gpuTypeId: 'type of A',
    dataCenterId: 'DC-1',
  });
  expect(placeWorker(wanted(['A', 'B'], 2), capacities)).toMatchObject({ pool: 'B' });
});

test('data centers are tried as listed; those not listed are never used', () => {
  const capacities = [at('A', 'DC-1', 4), at('A', 'DC-2', 4), at('A', 'DC-3', 4)];
  expect(placeWorker(wanted(['A'], 1, ['DC-3', 'DC-2']), capacities)).toMatchObject({ dataCenterId: 'DC-3' });
  expect(placeWorker(wanted(['A'], 1, ['DC-9']), capacities)).toMatchObject({ isPlaced: false });
});

test('GPUs have to be free together in one place', () => {
  expect(placeWorker(wanted(['A'], 2), [at('A', 'DC-1', 1), at('A', 'DC-2', 1)])).toMatchObject({ isPlaced: false });
});

test('without capacity it says what is missing, pool by pool', () => {
  expect(placeWorker(wanted(['A', 'B'], 2, ['DC-1']), [at('A', 'DC-1', 1)])).toEqual({
    isPlaced: false,
    reason: 'no capacity: it needs 2 GPUs together in DC-1; A has 1 of 4 free, B has no GPU here',
  });
});

test('a type that the endpoint excludes is no place, and a wait says so', () => {
  const capacities = [
    { ...at('A', 'DC-1', 4), gpuTypeId: 'L4' },
    { ...at('A', 'DC-1', 1), gpuTypeId: '4090' },
  ];
  const request = { ...wanted(['A']), excludedTypes: ['L4'] };
  expect(placeWorker(request, capacities)).toMatchObject({ isPlaced: true, gpuTypeId: '4090' });
  expect(placeWorker({ ...request, excludedTypes: ['L4', '4090'] }, capacities)).toEqual({
    isPlaced: false,
    reason: 'no capacity: it needs 1 GPU together; A has only L4 and 4090 here, which the endpoint excludes',
  });
});

test('a driver that does not support the CUDA version is no place, and a wait says so', () => {
  const capacities = [
    { ...at('A', 'DC-1', 4), cudaVersion: '12.4' },
    { ...at('A', 'DC-1', 4), cudaVersion: '12.9' },
  ];
  const request = { ...wanted(['A']), cuda: { min: '12.8' } };
  expect(placeWorker(request, capacities)).toMatchObject({ isPlaced: true, cudaVersion: '12.9' });
  expect(placeWorker(wanted(['A']), capacities)).not.toHaveProperty('cudaVersion');
  expect(placeWorker(request, capacities.slice(0, 1))).toEqual({
    isPlaced: false,
    reason: 'no capacity: it needs 1 GPU together; no GPU of A here has CUDA 12.8 or newer, the driver supports 12.4',
  });
});

const HERE = new Set(['DC-1', 'DC-2', 'DC-3']);

test('network volumes tie a worker to their data center, in the order the endpoint prefers', () => {
  expect(dataCentersFor([], [], HERE)).toEqual([]);
  expect(dataCentersFor(['DC-2', 'DC-1'], [], HERE)).toEqual(['DC-2', 'DC-1']);
  expect(dataCentersFor([], ['DC-3', 'DC-3'], HERE)).toEqual(['DC-3']);
  expect(dataCentersFor(['DC-2', 'DC-1'], ['DC-1', 'DC-2', 'DC-3'], HERE)).toEqual(['DC-2', 'DC-1']);
});

test('a volume outside the data centers of the endpoint leaves no place', () => {
  expect(dataCentersFor(['DC-2'], ['DC-1'], HERE)).toBeNull();
});

test('an installation with one data center ignores preferences: a name from elsewhere works on a laptop', () => {
  expect(dataCentersFor(['EU-RO-1'], ['US-KS-2'], new Set(['LOCAL-1']))).toEqual([]);
});
