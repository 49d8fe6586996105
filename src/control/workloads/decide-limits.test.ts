import { expect, test } from 'vitest';
import type { Capacity, GpuCapacity } from '../../runtimes/runtime.ts';
import { decideLimits, visibleLimits } from './decide-limits.ts';

const GIB = 2 ** 30;
const AUTO = { cpus: 'auto', memory: 'auto' } as const;

const pool = (name: string, total: number, machine?: GpuCapacity['machine']): GpuCapacity => ({
  pool: name,
  gpuTypeId: name,
  dataCenterId: 'LOCAL-1',
  total,
  free: 0,
  ...(machine && { machine }),
});
const machine = (cpus: number, gib: number, ...gpus: GpuCapacity[]): Capacity => ({
  cpus,
  memoryBytes: gib * GIB,
  gpus,
});
const gpu = (count = 1, name = 'A') => ({ cpu: null, gpu: { pool: name, count, dataCenterId: 'LOCAL-1' } });

test('a GPU brings its share of the machine, less a tenth for the system', () => {
  const eight = machine(128, 1000, pool('A', 6), pool('B', 2));
  expect(decideLimits(gpu(1), eight, AUTO)).toEqual({
    cpus: 14.4,
    memoryBytes: 112.5 * GIB,
    requestShare: 5 / 6,
  });
  expect(decideLimits(gpu(4, 'B'), eight, AUTO)).toMatchObject({ cpus: 57.6, memoryBytes: 450 * GIB });
  expect(decideLimits(gpu(), machine(16, 64, pool('A', 1)), AUTO)).toMatchObject({ cpus: 14.4 });
});

test('with many simulated GPUs a workload still has a CPU and a gibibyte, but never more than nine tenths of the machine', () => {
  const simulated = machine(2, 8, pool('A', 100_000));
  expect(decideLimits(gpu(), simulated, AUTO)).toMatchObject({ cpus: 1, memoryBytes: GIB });
  const small = machine(1, 0.5, pool('A', 4));
  expect(decideLimits(gpu(), small, AUTO)).toMatchObject({ cpus: 0.9, memoryBytes: 460 * 2 ** 20 });
  expect(decideLimits(gpu(4), small, AUTO)).toMatchObject({ cpus: 0.9, memoryBytes: 460 * 2 ** 20 });
});

test('a node with more GPUs than CPUs can use them all: requests are the plain share, not the least limit', () => {
  const crowded = machine(2, 64, pool('A', 8, { cpus: 2, memoryBytes: 64 * GIB, gpus: 8 }));
  const { cpus, requestShare } = decideLimits(gpu(), crowded, AUTO);
  expect(cpus).toBe(1);
  expect(8 * cpus! * requestShare).toBeCloseTo((2 * 0.9 * 5) / 6);
});

test('in a cluster, the smallest node that may get it counts, with all its GPUs', () => {
  const cluster: Capacity = {
    ...machine(300, 3000),
    largest: { cpus: 200, memoryBytes: 2000 * GIB },
    gpus: [
      pool('A', 8, { cpus: 64, memoryBytes: 512 * GIB, gpus: 8 }),
      pool('A', 1, { cpus: 10, memoryBytes: 100 * GIB, gpus: 2 }),
      pool('B', 1, { cpus: 2, memoryBytes: 4 * GIB, gpus: 1 }),
    ],
  };
  expect(decideLimits(gpu(), cluster, AUTO)).toMatchObject({ cpus: 4.5, memoryBytes: 45 * GIB });
  const elsewhere = { cpu: null, gpu: { pool: 'A', count: 1, dataCenterId: 'EU-1' } };
  expect(decideLimits(elsewhere, cluster, AUTO).cpus).toBe(18); // of the largest node, as it has none there
});

test('the operator’s figures are per GPU, are set aside in full, and end at the machine', () => {
  const two = machine(16, 64, pool('A', 2));
  const settings = { cpus: 3, memory: { bytes: 10 * GIB } };
  expect(decideLimits(gpu(2), two, settings)).toEqual({ cpus: 6, memoryBytes: 20 * GIB, requestShare: 1 });
  expect(decideLimits(gpu(), two, { cpus: 99, memory: { share: 0.25 } })).toMatchObject({
    cpus: 16,
    memoryBytes: 16 * GIB,
  });
  expect(decideLimits(gpu(), two, { cpus: null, memory: null })).toMatchObject({ cpus: null, memoryBytes: null });
});

test('a CPU flavor is the limit itself, and without either there is none', () => {
  const two = machine(16, 64, pool('A', 2));
  const cpu = { vcpuCount: 4, memory: 8 };
  expect(decideLimits({ cpu, gpu: null }, two, AUTO)).toEqual({ cpus: 4, memoryBytes: 8 * GIB, requestShare: 1 });
  expect(decideLimits({ cpu: null, gpu: null }, two, AUTO)).toMatchObject({ cpus: null, memoryBytes: null });
  expect(decideLimits(gpu(), machine(0, 0), AUTO)).toMatchObject({ cpus: null, memoryBytes: null });
});

test('programs are told whole CPUs, at least one', () => {
  const two = machine(16, 64, pool('A', 2));
  const told = (cpus: number | null) => visibleLimits({ cpus, memoryBytes: null, requestShare: 1 }, two);
  expect([told(7.2), told(0.9), told(null)]).toEqual([
    { cpus: 7, memoryBytes: 64 * GIB },
    { cpus: 1, memoryBytes: 64 * GIB },
    { cpus: 16, memoryBytes: 64 * GIB },
  ]);
});
