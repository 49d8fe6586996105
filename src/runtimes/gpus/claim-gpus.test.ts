import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NoCapacity } from '../runtime.ts';
import { capacityOf, claimGpus } from './claim-gpus.ts';
import type { Gpu } from './gpu.ts';

const gpu = (uuid: string, change: Partial<Gpu> = {}): Gpu => ({
  uuid,
  busId: '0000:01:00.0',
  gpuTypeId: 'NVIDIA L4',
  pool: 'AMPERE_24',
  vendor: 'NVIDIA',
  memoryMib: 23_034,
  cudaVersion: '12.4',
  shares: 1,
  devicePaths: [],
  ...change,
});
const wanted = (count: number, gpuTypeId?: string) => ({ pool: 'AMPERE_24', count, ...(gpuTypeId && { gpuTypeId }) });

test('a claim gets GPUs that nobody holds, of its type', () => {
  const gpus = [gpu('a'), gpu('b', { gpuTypeId: 'NVIDIA RTX A5000' }), gpu('c', { pool: 'ADA_24' })];
  expect(claimGpus(wanted(1), gpus, [['a']])).toEqual(['b']);
  expect(claimGpus(wanted(1, 'NVIDIA RTX A5000'), gpus, [])).toEqual(['b']);
  expect(() => claimGpus(wanted(1, 'NVIDIA L4'), gpus, [['a']])).toThrow(NoCapacity);
});

test('shares of one GPU are never several GPUs for one workload, and the least shared one comes first', () => {
  const gpus = [gpu('a', { shares: 2 }), gpu('b', { shares: 2 })];
  expect(claimGpus(wanted(2), gpus, [])).toEqual(['a', 'b']);
  expect(claimGpus(wanted(1), gpus, [['a']])).toEqual(['b']);
  expect(() => claimGpus(wanted(2), gpus, [['a'], ['a']])).toThrow(NoCapacity);
});

test('capacity counts by type and driver; what others hold is not there at all', () => {
  const gpus = [gpu('a'), gpu('b'), gpu('c'), gpu('d', { gpuTypeId: 'NVIDIA RTX A5000' })];
  const place = { pool: 'AMPERE_24', dataCenterId: 'LOCAL-1', cudaVersion: '12.4', memoryGb: 22 };
  expect(capacityOf(gpus, [['a']], [['b']], 'LOCAL-1')).toEqual([
    { ...place, gpuTypeId: 'NVIDIA L4', total: 2, free: 1 },
    { ...place, gpuTypeId: 'NVIDIA RTX A5000', total: 1, free: 1 },
  ]);
  const shared = [gpu('a', { shares: 4 }), gpu('b', { shares: 4 })];
  expect(capacityOf(shared, [['a'], ['a']], [], 'LOCAL-1').map(({ total, free }) => [total, free])).toEqual([
    [4, 2],
    [4, 4],
  ]);
});

test('whatever starts, ends, is lost and comes back: no GPU has more holders than shares, and a claim fails only when too few are free', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('claim' as const), count: fc.integer({ min: 1, max: 3 }) }) },
    fc.record({ do: fc.constant('end' as const), at: fc.nat(20) }),
    fc.record({ do: fc.constant('lose' as const), at: fc.nat(5) }),
    fc.record({ do: fc.constant('return' as const), at: fc.nat(5) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(1, 2), (steps, shares) => {
      const all = Array.from({ length: 5 }, (_, i) => gpu(`g${i}`, { shares }));
      const lost = new Set<string>();
      let held: string[][] = [];
      for (const one of steps) {
        const usable = all.filter(({ uuid }) => !lost.has(uuid));
        if (one.do === 'end') held = held.filter((_, i) => i !== one.at);
        else if (one.do === 'lose') lost.add(`g${one.at}`);
        else if (one.do === 'return') lost.delete(`g${one.at}`);
        else {
          const uses = (uuid: string) => held.flat().filter((each) => each === uuid).length;
          const free = usable.filter(({ uuid }) => uses(uuid) < shares);
          try {
            const claimed = claimGpus(wanted(one.count), usable, held);
            expect(new Set(claimed).size).toBe(one.count);
            expect(claimed.every((uuid) => !lost.has(uuid))).toBe(true);
            held.push(claimed);
          } catch (error) {
            if (!(error instanceof NoCapacity)) throw error;
            expect(free.length).toBeLessThan(one.count);
          }
          for (const { uuid } of all) expect(uses(uuid)).toBeLessThanOrEqual(shares);
        }
      }
    }),
  );
});
