import { beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../core/logger.ts';
import type { Gpu, GpuReading } from './gpu.ts';
import { GpuInventory } from './gpu-inventory.ts';

const gpu = (n: number, change: Partial<Gpu> = {}): Gpu => ({
  uuid: `GPU-${n}`,
  busId: `0000:0${n}:00.0`,
  gpuTypeId: 'NVIDIA L4',
  pool: 'AMPERE_24',
  vendor: 'NVIDIA',
  memoryMib: 24_000,
  cudaVersion: '12.4',
  shares: 1,
  devicePaths: [],
  ...change,
});
const read = (gpus: Gpu[], faulty: (GpuReading & { state: 'read' })['faulty'] = []): GpuReading => ({
  state: 'read',
  gpus,
  faulty,
});

let reading: GpuReading;
let reads: number;
let nowMs: number;
let inventory: GpuInventory;
beforeEach(() => {
  reading = read([gpu(1), gpu(2)]);
  reads = 0;
  nowMs = 0;
  const source = {
    name: 'test',
    read: async () => {
      reads += 1;
      return reading;
    },
  };
  inventory = new GpuInventory({ source, logger: silentLogger, monotonic: { now: () => nowMs } });
});
const usable = () => inventory.usable().map(({ uuid }) => uuid);

test('the first caller waits for the GPUs; later ones begin a check only when it is due, and wait for none', async () => {
  await inventory.ready();
  expect([usable(), reads]).toEqual([['GPU-1', 'GPU-2'], 1]);
  await inventory.ready();
  nowMs = 29_999;
  inventory.refresh();
  expect(reads).toBe(1);
  nowMs = 30_000;
  await inventory.ready();
  expect(reads).toBe(2);
  inventory.expire(); // a start failed
  await inventory.check();
  inventory.refresh();
  expect(reads).toBe(3);
});

test('a GPU with an error is out of the pool and lost at once, and back as soon as it answers', async () => {
  await inventory.ready();
  reading = read([gpu(2)], [{ uuid: null, busId: '0000:01:00.0', fault: 'GPU is lost' }]);
  await inventory.check();
  expect(usable()).toEqual(['GPU-2']);
  expect(inventory.lossOf('GPU-1')).toBe('GPU-1 (NVIDIA L4) does not answer: GPU is lost');
  expect(inventory.lossOf('GPU-2')).toBeNull();
  expect(inventory.problem).toBe('GPU-1 (NVIDIA L4) does not answer: GPU is lost');
  reading = read([gpu(1), gpu(2)]);
  await inventory.check();
  expect([usable(), inventory.hasLosses, inventory.problem]).toEqual([['GPU-1', 'GPU-2'], false, null]);
});

test('the slices of a lost GPU are lost with it', async () => {
  reading = read([gpu(1, { uuid: 'MIG-a' }), gpu(1, { uuid: 'MIG-b' }), gpu(2)]);
  await inventory.ready();
  reading = read([gpu(2)], [{ uuid: null, busId: '0000:01:00.0', fault: 'Unknown Error' }]);
  await inventory.check();
  expect([inventory.lossOf('MIG-a'), inventory.lossOf('MIG-b')]).toEqual([
    expect.stringContaining('Unknown Error'),
    expect.stringContaining('Unknown Error'),
  ]);
});

test('a GPU that is only missing is looked for a second time, soon, before its workloads are given up', async () => {
  await inventory.ready();
  reading = read([gpu(2)]);
  await inventory.check();
  expect([usable(), inventory.lossOf('GPU-1')]).toEqual([['GPU-2'], null]);
  nowMs += 3_000;
  await inventory.ready();
  await new Promise((resolve) => setImmediate(resolve));
  expect(inventory.lossOf('GPU-1')).toContain('is no longer listed by the driver');
});

test('a lost GPU that hides the others takes none of them with it', async () => {
  await inventory.ready();
  const faulty = [{ uuid: null, busId: '0000:01:00.0', fault: 'GPU is lost' }];
  reading = { state: 'read', gpus: [], faulty, isPartial: true };
  for (let i = 0; i < 3; i++) await inventory.check();
  expect([usable(), inventory.lossOf('GPU-2')]).toEqual([['GPU-2'], null]);
  expect(inventory.lossOf('GPU-1')).toContain('GPU is lost');
});

test('while nothing can be read, no GPU is given away and none is lost', async () => {
  await inventory.ready();
  reading = { state: 'unreadable', problem: 'Driver/library version mismatch', advice: 'Restart the machine' };
  for (let i = 0; i < 3; i++) await inventory.check();
  expect([usable(), inventory.hasLosses]).toEqual([[], false]);
  expect(inventory.problem).toBe('the GPUs cannot be read: Driver/library version mismatch. Restart the machine');
  reading = read([gpu(1), gpu(2)]);
  await inventory.check();
  expect(usable()).toHaveLength(2);
});
