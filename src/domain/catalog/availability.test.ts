import { expect, test } from 'vitest';
import { ANY_GPU, cpuAvailability, gpuAvailability, listCpusIn, listGpusIn } from './availability.ts';
import type { GpuStock, Stock } from './capacity-source.ts';
import { findCpuFlavor, findGpuType, LOCAL_DATA_CENTER } from './catalog.ts';

const RTX = findGpuType('NVIDIA GeForce RTX 4090')!;
const L4 = findGpuType('NVIDIA L4')!;
const CPU = findCpuFlavor('cpu3c')!;

const node = (free: number, change: Partial<GpuStock> = {}): GpuStock => ({
  pool: 'ADA_24',
  gpuTypeId: RTX.id,
  dataCenterId: LOCAL_DATA_CENTER,
  total: 8,
  free,
  ...change,
});
const stock = (...gpus: GpuStock[]): Stock => ({ gpus, cpus: 16, memoryBytes: 64 * 2 ** 30 });
const levels = (request: Partial<typeof ANY_GPU>, ...gpus: GpuStock[]) =>
  gpuAvailability(RTX, stock(...gpus), { ...ANY_GPU, ...request });

test.each([
  [0, 'NONE'],
  [1, 'LOW'],
  [2, 'MEDIUM'],
  [3, 'MEDIUM'],
  [4, 'HIGH'],
  [8, 'HIGH'],
])('%i GPUs that are free are %s', (free, level) => {
  expect(levels({}, node(free)).availability).toBe(level);
});

test('a type that the runtime does not have is available nowhere', () => {
  expect(gpuAvailability(L4, stock(node(8)), ANY_GPU)).toEqual({ availability: 'NONE', dataCenters: [] });
  expect(levels({}, node(0, { total: 0 }))).toEqual({ availability: 'NONE', dataCenters: [] });
});

test('requested GPUs must be on one machine', () => {
  expect(levels({ count: 2 }, node(1), node(1)).availability).toBe('NONE');
  expect(levels({ count: 2 }, node(3), node(1)).availability).toBe('LOW');
  expect(levels({ count: 2 }, node(2), node(2)).availability).toBe('MEDIUM');
});

test('each data center has its own availability, even if full; an unknown one is named by its id', () => {
  const result = levels({}, node(1), node(0, { dataCenterId: 'EU-RO-1' }), node(4, { dataCenterId: 'LAB' }));
  expect(result).toEqual({
    availability: 'HIGH',
    dataCenters: [
      { id: LOCAL_DATA_CENTER, name: 'This machine', availability: 'LOW' },
      { id: 'EU-RO-1', name: expect.any(String), availability: 'NONE' },
      { id: 'LAB', name: 'LAB', availability: 'HIGH' },
    ],
  });
});

test('a cloud that does not offer the type, or not that many, has none', () => {
  const l4 = stock(node(8, { gpuTypeId: L4.id }));
  expect(gpuAvailability(L4, l4, { ...ANY_GPU, cloud: 'SECURE' }).availability).toBe('HIGH');
  expect(gpuAvailability(L4, l4, { ...ANY_GPU, cloud: 'COMMUNITY' }).availability).toBe('NONE');
  expect(levels({ cloud: 'SECURE', count: RTX.maxCount.secure + 1 }, node(99)).availability).toBe('NONE');
});

test('CUDA versions are compared by number; an unknown one satisfies any minimum', () => {
  const at = (cudaVersion: string) => levels({ cuda: { min: '12.9' } }, node(1, { cudaVersion })).availability;
  expect([at('12.9'), at('12.10'), at('13.0')]).toEqual(['LOW', 'LOW', 'LOW']);
  expect([at('12.8'), at('11.10')]).toEqual(['NONE', 'NONE']);
  expect(levels({ cuda: { min: '12.9' } }, node(1)).availability).toBe('LOW');
});

test('CPUs are those of this machine, limited by cores and memory', () => {
  const of = (vcpuCount: number | null, change: Partial<Stock> = {}) =>
    cpuAvailability(CPU, { ...stock(), ...change }, vcpuCount).availability;
  expect([of(null), of(4), of(8), of(16), of(32)]).toEqual(['HIGH', 'HIGH', 'MEDIUM', 'LOW', 'NONE']);
  expect(of(2, { memoryBytes: 2 ** 30 })).toBe('NONE');
  expect(of(6)).toBe('NONE'); // no power of two: no such instance
  expect(of(64, { cpus: 999, memoryBytes: 2 ** 50 })).toBe('NONE'); // above the flavor's range
});

test('a data center lists what it has, free or not', () => {
  const here = stock(node(0), node(1, { dataCenterId: 'EU-RO-1', gpuTypeId: L4.id, pool: 'AMPERE_24' }));
  expect(listGpusIn(LOCAL_DATA_CENTER, here)).toEqual([{ id: RTX.id, name: RTX.name, availability: 'NONE' }]);
  expect(listGpusIn('EU-RO-1', here)).toEqual([{ id: L4.id, name: L4.name, availability: 'LOW' }]);
  expect(listGpusIn('EU-FR-1', here)).toEqual([]);
  expect(listCpusIn(LOCAL_DATA_CENTER, here).map(({ id }) => id)).toContain('cpu3c');
  expect(listCpusIn('EU-RO-1', here)).toEqual([]);
});
