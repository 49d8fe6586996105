import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EndpointId, UserId, WorkerId } from '../../../core/ids.ts';
import type { FreezingWorker } from '../../../domain/workers/frozen-workers.ts';
import type { IdleSleeper } from '../../../domain/workers/sleeping-workers.ts';
import { chooseGivers, type Giver } from './evict-frozen.ts';

const frozen = (id: string, age: number, more: Partial<FreezingWorker> = {}): FreezingWorker => ({
  id: id as WorkerId,
  endpointId: 'e' as EndpointId,
  userId: 'u' as UserId,
  wanted: 'FREEZE',
  wantedReason: '',
  phase: 'FROZEN',
  leased: 0,
  requests: 0,
  drainAt: null,
  isPriority: false,
  memoryBytes: 1,
  frozenAt: new Date(1_000_000 - age),
  gpuPool: 'ADA_24',
  gpuTypeId: 'x',
  gpuCount: 1,
  dataCenterId: 'A',
  holdsGpus: true,
  sleepMethod: null,
  asleepAt: null,
  thawWantedAt: null,
  thawedAt: null,
  sleepUrl: null,
  wakeUrl: null,
  httpPort: null,
  ...more,
});
const place = (free: number, dataCenterId = 'A', pool = 'ADA_24') => ({
  pool,
  dataCenterId,
  free,
  total: 8,
  gpuTypeId: 'x',
});
const request = (count: number, more: object = {}) => ({ pools: ['ADA_24'], count, dataCenterIds: [], ...more });
const sleeper = (id: string, age: number): IdleSleeper => ({
  id: id as WorkerId,
  endpointId: 'e' as EndpointId,
  userId: 'u' as UserId,
  gpuPool: 'ADA_24',
  gpuTypeId: null,
  dataCenterId: 'A',
  gpuCount: 1,
  lastUsedAt: new Date(1_000_000 - age),
});
const chooseFrozen = (
  all: readonly FreezingWorker[],
  wanted: Parameters<typeof chooseGivers>[2],
  capacities: Parameters<typeof chooseGivers>[3],
) => chooseGivers(all, [], wanted, capacities);
const ids = (chosen: Giver[] | null) => chosen?.map(({ id }) => id) ?? null;

test('the oldest are evicted, as few as needed, those of PRIORITY_FLASHBOOT last', () => {
  const all = [frozen('young', 1), frozen('kept', 9, { isPriority: true }), frozen('old', 5)];
  expect(ids(chooseFrozen(all, request(1), [place(0)]))).toEqual(['old']);
  expect(ids(chooseFrozen(all, request(2), [place(0)]))).toEqual(['old', 'young']);
  expect(ids(chooseFrozen(all, request(3), [place(0)]))).toEqual(['old', 'young', 'kept']);
  expect(ids(chooseFrozen(all, request(2), [place(1)]))).toEqual(['old']);
});

test('none is evicted when it would not be enough in one place', () => {
  const all = [frozen('here', 1), frozen('there', 2, { dataCenterId: 'B' })];
  expect(chooseFrozen(all, request(2), [place(0), place(0, 'B')])).toBeNull();
  expect(chooseFrozen(all, request(1, { dataCenterIds: ['C'] }), [place(0), place(0, 'B')])).toBeNull();
  expect(ids(chooseFrozen(all, request(1, { dataCenterIds: ['B'] }), [place(0), place(0, 'B')]))).toEqual(['there']);
});

test('workers already leaving count, so a second call evicts no more', () => {
  const all = [frozen('leaving', 9, { wanted: 'STOP' }), frozen('staying', 1)];
  expect(ids(chooseFrozen(all, request(1), [place(0)]))).toEqual([]);
});

test('idle workers that can sleep go before frozen ones, which would lose what they hold', () => {
  const sleepers = [sleeper('idle', 1), sleeper('busier', 0)];
  const chosen = (count: number, all: FreezingWorker[]) => ids(chooseGivers(all, sleepers, request(count), [place(0)]));
  expect(chosen(1, [frozen('frozen', 9)])).toEqual(['idle']);
  expect(chosen(3, [frozen('frozen', 9)])).toEqual(['idle', 'busier', 'frozen']);
});

test('a sleeping worker has no GPUs to give, one that falls asleep gives its own', () => {
  expect(chooseFrozen([frozen('asleep', 1, { holdsGpus: false })], request(1), [place(0)])).toBeNull();
  const falling = frozen('falling', 1, { phase: 'RUNNING', sleepMethod: 'HANDLER' });
  expect(chooseFrozen([falling, frozen('old', 9)], request(1), [place(0)])).toEqual([]);
});

test('the choice is enough, and without its last member it is not', () => {
  const one = fc.record({ gpuCount: fc.integer({ min: 1, max: 4 }), age: fc.nat(100), isPriority: fc.boolean() });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 8 }), fc.nat(4), fc.integer({ min: 1, max: 8 }), (workers, free, count) => {
      const all = workers.map(({ age, ...more }, i) => frozen(`w${i}`, age, more));
      const chosen = chooseFrozen(all, request(count), [place(free)]);
      const total = (some: readonly { gpuCount: number }[]) =>
        free + some.reduce((sum, { gpuCount }) => sum + gpuCount, 0);
      if (chosen === null) expect(total(all)).toBeLessThan(count);
      else {
        expect(total(chosen)).toBeGreaterThanOrEqual(count);
        if (chosen.length > 0) expect(total(chosen.slice(0, -1))).toBeLessThan(count);
      }
    }),
  );
});

test('a worker on a type that the endpoint excludes, or with the wrong driver, is not evicted for it', () => {
  const places = [place(0)];
  expect(ids(chooseFrozen([frozen('a', 1)], request(1), places))).toEqual(['a']);
  expect(chooseFrozen([frozen('a', 1)], request(1, { excludedTypes: ['x'] }), places)).toBeNull();
  expect(chooseFrozen([frozen('a', 1, { gpuTypeId: 'y' })], request(1), places)).toBeNull();
  const old = [{ ...place(0), cudaVersion: '12.4' }];
  expect(chooseFrozen([frozen('a', 1)], request(1, { cuda: { min: '12.8' } }), old)).toBeNull();
});
