import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutByUser } from './user-allowance.ts';

const user = { workerLimit: null, gpuLimit: null, workers: 0, gpus: 0, gpusPerWorker: 1 };
const own = (workers: number, gpus = workers) => ({ workers, gpus });

test.each([
  ['no limit', cutByUser(5, own(0), user), null],
  ['a limit above workers.max', cutByUser(5, own(0), { ...user, workerLimit: 5 }), null],
  [
    'a limit below it',
    cutByUser(9, own(0), { ...user, workerLimit: 5 }),
    { name: 'workers', limit: 5, elsewhere: 0, max: 5 },
  ],
  [
    'others of the user',
    cutByUser(9, own(2), { ...user, workerLimit: 5, workers: 4 }),
    { name: 'workers', limit: 5, elsewhere: 2, max: 3 },
  ],
  [
    'others over the limit',
    cutByUser(9, own(2), { ...user, workerLimit: 5, workers: 9 }),
    { name: 'workers', limit: 5, elsewhere: 7, max: 2 },
  ],
  [
    'own beyond the limit',
    cutByUser(9, own(8), { ...user, workerLimit: 5, workers: 8 }),
    { name: 'workers', limit: 5, elsewhere: 0, max: 5 },
  ],
  [
    'GPUs by worker',
    cutByUser(9, own(1, 2), { ...user, gpuLimit: 7, gpus: 4, gpusPerWorker: 2 }),
    { name: 'gpus', limit: 7, elsewhere: 2, max: 2 },
  ],
  ['no GPU of a CPU endpoint', cutByUser(9, own(1, 0), { ...user, gpuLimit: 0, gpusPerWorker: 0 }), null],
  [
    'the lower of two',
    cutByUser(9, own(0), { ...user, workerLimit: 3, gpuLimit: 4, gpusPerWorker: 2 }),
    { name: 'gpus', limit: 4, elsewhere: 0, max: 2 },
  ],
])('%s', (_, cut, expected) => expect(cut).toEqual(expected));

test('an endpoint that grows to what is left never exceeds a limit, and never has to shrink for others', () => {
  const count = fc.nat(50);
  fc.assert(
    fc.property(count, count, count, count, (limit, mine, elsewhere, max) => {
      const left = cutByUser(max, own(mine), { ...user, workerLimit: limit, workers: mine + elsewhere })?.max ?? max;
      expect(left).toBeLessThanOrEqual(max);
      if (left > mine) expect(left + elsewhere).toBeLessThanOrEqual(limit);
      if (left < mine) expect(left).toBe(Math.min(limit, max));
    }),
  );
});
