import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EndpointId, UserId, WorkerId } from '../core/ids.ts';
import type { FreezingWorker } from '../domain/workers/frozen-workers.ts';
import { toReclaimable } from '../domain/workers/reclaimable-workers.ts';
import type { IdleSleeper } from '../domain/workers/sleeping-workers.ts';
import { decideWake, type ReclaimableWorker, reclaimForPod, reclaimForWorker, type Sleeper } from './reclaim-gpus.ts';

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
  wanted: Parameters<typeof reclaimForWorker>[1],
  capacities: Parameters<typeof reclaimForWorker>[2],
) => reclaimForWorker(toReclaimable(all, []), wanted, capacities);
const ids = (chosen: ReclaimableWorker[] | null) => chosen?.map(({ id }) => id) ?? null;

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
  const chosen = (count: number, all: FreezingWorker[]) =>
    ids(reclaimForWorker(toReclaimable(all, sleepers), request(count), [place(0)]));
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
      const total = (some: readonly { count: number }[]) => free + some.reduce((sum, one) => sum + one.count, 0);
      if (chosen === null) expect(total(toReclaimable(all, []))).toBeLessThan(count);
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

const gpus = { pool: 'ADA_24', gpuTypeId: 'x', dataCenterId: 'A' };
const wake = (more: Partial<Sleeper>, all: readonly FreezingWorker[] | null, waitedMs = 0) => {
  const sleeping = { id: 'me', place: gpus, count: 1, free: 0, holders: new Set<string>(), ...more };
  return decideWake(sleeping, all && toReclaimable(all, [sleeper('idle', 1)]), waitedMs);
};
const waitsFor = (...victims: string[]) => ({
  do: 'wait',
  victims: victims.map((id) => expect.objectContaining({ id })),
});
const SOONER = {
  do: 'giveUp',
  why: expect.objectContaining({ reason: expect.stringContaining('a cold start on another is sooner') }),
};
const tooLong = (seconds: number) => ({
  do: 'giveUp',
  why: expect.objectContaining({ reason: `it could not be woken: its GPUs were in use for ${seconds} s` }),
});
const FALLING = frozen('falling', 0, { phase: 'RUNNING', sleepMethod: 'CHECKPOINT' });

test.each([
  ['any GPU will do: an idle worker falls asleep', wake({}, [frozen('old', 9)]), waitsFor('idle')],
  [
    'and a frozen one is evicted when that is not enough',
    wake({ count: 2 }, [frozen('old', 9)]),
    waitsFor('idle', 'old'),
  ],
  ['what is leaving is enough', wake({}, [frozen('gone', 9, { wanted: 'STOP' })]), waitsFor()],
  ['what is free counts', wake({ count: 2, free: 1 }, [frozen('old', 9)]), waitsFor('idle')],
  ['nobody can help: it waits', wake({ count: 9 }, []), waitsFor()],
  [
    'it needs the very GPUs of a frozen worker',
    wake({ holders: new Set(['old']) }, [frozen('old', 9)]),
    waitsFor('old'),
  ],
  ['or of one with work', wake({ holders: new Set(['busy']) }, []), waitsFor()],
  ['or of one with work, while others are free', wake({ holders: new Set(['busy']), free: 1 }, []), SOONER],
  ['those that were chosen before still leave', wake({ holders: new Set(['busy']), free: 1 }, null), waitsFor()],
  ['it has waited for a minute', wake({ holders: new Set(['busy']) }, [], 60_001), tooLong(60)],
  [
    'a large model takes minutes to fall asleep',
    wake({ holders: new Set(['falling']) }, [FALLING], 60_001),
    waitsFor(),
  ],
  ['not longer than five', wake({ holders: new Set(['falling']) }, [FALLING], 300_001), tooLong(300)],
  ['itself is no help', wake({ count: 2 }, [frozen('me', 9)]), waitsFor()],
])('a worker that is to wake: %s', (_, decision, expected) => expect(decision).toEqual(expected));

/** A pod fits where enough is free; nothing is but what leaves. */
const forPod = (count: number, all: readonly FreezingWorker[]) =>
  reclaimForPod(toReclaimable(all, [sleeper('idle', 1)]), 'x', (freed) => {
    const at = (id: string) => freed.filter(({ dataCenterId }) => dataCenterId === id).length;
    return ['A', 'B'].filter((id) => at(id) >= count).map((dataCenterId) => ({ pool: 'ADA_24', dataCenterId }));
  });
const inB = { dataCenterId: 'B' };

test.each([
  ['the oldest frozen worker leaves', 1, [frozen('young', 1), frozen('old', 5)], 'A', ['old']],
  ['PRIORITY_FLASHBOOT last', 1, [frozen('kept', 9, { isPriority: true }), frozen('old', 5)], 'A', ['old']],
  ['as many as the pod needs', 2, [frozen('young', 1), frozen('old', 5)], 'A', ['old', 'young']],
  ['none while enough leave already', 1, [frozen('old', 9), frozen('gone', 1, { wanted: 'STOP' })], 'A', []],
  ['in another data center', 1, [frozen('there', 1, inB)], 'B', ['there']],
  ['none where that is not enough', 2, [frozen('here', 1), frozen('there', 1, inB)], null, []],
  [
    'none that falls asleep, which may fail',
    1,
    [frozen('falling', 1, { phase: 'RUNNING', sleepMethod: 'URL' })],
    null,
    [],
  ],
  ['none that is to run', 1, [frozen('thawing', 1, { wanted: 'RUN' })], null, []],
])('for a pod: %s', (_, count, all, dataCenterId, victims) => {
  const found = forPod(count, all);
  expect(found?.place.dataCenterId ?? null).toBe(dataCenterId);
  expect(ids(found?.victims ?? [])).toEqual(victims);
});
