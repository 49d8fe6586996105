import { describe, expect, test } from 'vitest';
import type { PlaceRequest, PoolCapacity } from './place-worker.ts';
import { shareCapacity } from './share-capacity.ts';
import type { HoldingWorker, Sharing, WaitingWorker } from './sharing.ts';
import { NO_FAILURES, type StartRecord } from './start-record.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;
const place = (pool: string, dataCenterId: string, total: number, free = total): PoolCapacity => ({
  pool,
  gpuTypeId: `type of ${pool}`,
  dataCenterId,
  total,
  free,
});

let count = 0;
interface Wish {
  count?: number;
  forMs?: number;
  dataCenterIds?: string[];
  userId?: string;
}
function waits(endpointId: string, change: Wish = {}): WaitingWorker & { request: PlaceRequest } {
  count += 1;
  const request = { pools: ['A'], count: change.count ?? 1, dataCenterIds: change.dataCenterIds ?? [] };
  const userId = change.userId ?? endpointId;
  return { id: `${endpointId}-${count}`, endpointId, userId, request, waitsSince: NOW - (change.forMs ?? 1_000) };
}
function holds(endpointId: string, change: Partial<HoldingWorker> = {}): HoldingWorker {
  count += 1;
  const since = NOW - 10 * MINUTE;
  const base = { pool: 'A', dataCenterId: 'DC-1', count: 1, since, isReady: true, isBusy: true };
  const stays = { weight: 1, isLeaving: false, yieldsTo: null };
  return { id: `${endpointId}-${count}`, endpointId, userId: endpointId, ...base, ...stays, ...change };
}
const share = (
  capacities: PoolCapacity[],
  waiting: WaitingWorker[],
  holding: HoldingWorker[] = [],
  change: Partial<Sharing> = {},
) => shareCapacity({ capacities, waiting, holding, minOf: () => 0, now: NOW, ...change });

describe('free capacity', () => {
  test('goes to the endpoint that holds the fewest GPUs, even if another asked first', () => {
    const [rich, poor] = [waits('rich', { forMs: 9_000 }), waits('poor', { forMs: 1_000 })];
    const { placed, missing } = share([place('A', 'DC-1', 3, 1)], [rich, poor], [holds('rich'), holds('rich')]);
    expect([...placed.keys()]).toEqual([poor.id]);
    expect(missing.get(rich.id)).toBe('no capacity: it needs 1 GPU together; A has 0 of 3 free');
  });

  test('goes in turns to two endpoints that want all of it: many workers of one starve no other', () => {
    const herd = Array.from({ length: 1_000 }, () => waits('herd', { forMs: 5_000 }));
    const calm = [waits('calm', { forMs: 10 }), waits('calm', { forMs: 10 })];
    const { placed } = share([place('A', 'DC-1', 4)], [...herd, ...calm]);
    expect([...placed.keys()].filter((id) => id.startsWith('calm'))).toHaveLength(2);
    expect(placed.size).toBe(4);
  });

  test('goes first come, first served, within an endpoint', () => {
    const [late, early] = [waits('a', { forMs: 1 }), waits('a', { forMs: 2 })];
    expect([...share([place('A', 'DC-1', 1)], [late, early]).placed.keys()]).toEqual([early.id]);
  });

  test('is not needed by a worker without a GPU', () => {
    const worker = { id: 'cpu', endpointId: 'a', userId: 'a', request: null, waitsSince: NOW };
    expect(share([], [worker]).placed.get('cpu')).toEqual({ pool: null, gpuTypeId: null, dataCenterId: null });
  });

  test('is kept for a worker that has waited a minute for several GPUs together', () => {
    const [big, small] = [waits('big', { count: 4, forMs: MINUTE }), waits('small', { forMs: 1_000 })];
    const holding = [holds('small', { since: NOW - 1_000 })];
    expect(share([place('A', 'DC-1', 4, 3)], [big, small], holding).placed.size).toBe(0);
    const patient = { ...big, waitsSince: NOW - MINUTE + 1 };
    expect([...share([place('A', 'DC-1', 4, 3)], [patient, small], holding).placed.keys()]).toEqual([small.id]);
  });
});

describe('capacity that others hold', () => {
  test('stays theirs for a minute', () => {
    const { yields } = share([place('A', 'DC-1', 2, 0)], [waits('b', { forMs: MINUTE - 1 })], [holds('a'), holds('a')]);
    expect(yields).toEqual([]);
  });

  test('is then shared evenly: the one that holds most loses an idle worker, or the one that ran longest', () => {
    const old = holds('a', { since: NOW - 20 * MINUTE });
    const holding = [holds('a'), old, holds('a'), holds('c')];
    const waiting = waits('b', { forMs: 90_000 });
    const { yields } = share([place('A', 'DC-1', 4, 0)], [waiting], holding);
    expect(yields).toEqual([
      {
        id: old.id,
        endpointId: 'a',
        forWorkerId: waiting.id,
        forEndpointId: 'b',
        cause: 'share',
        held: 0,
        level: 1,
        waitedMs: 90_000,
      },
    ]);
    const idle = holds('a', { isBusy: false });
    expect(share([place('A', 'DC-1', 5, 0)], [waiting], [...holding, idle]).yields[0]!.id).toBe(idle.id);
  });

  test('stays theirs when the one that waits has as much already', () => {
    const holding = [holds('a'), holds('a'), holds('b')];
    expect(share([place('A', 'DC-1', 3, 0)], [waits('b', { forMs: 3 * MINUTE })], holding).yields).toEqual([]);
  });

  test('is never preempted below workers.min', () => {
    const holding = [holds('a'), holds('a')];
    const { yields } = share([place('A', 'DC-1', 2, 0)], [waits('b', { forMs: MINUTE })], holding, {
      minOf: () => 2,
    });
    expect(yields).toEqual([]);
  });

  test('is not preempted twice while the first worker finishes its job', () => {
    const holding = [holds('a', { isLeaving: true }), holds('a')];
    expect(share([place('A', 'DC-1', 2, 0)], [waits('b', { forMs: MINUTE })], holding).yields).toEqual([]);
  });

  test('even a single GPU changes hands when the other endpoint has nothing at all', () => {
    const [fresh, old] = [holds('a', { since: NOW - 2.5 * MINUTE + 1 }), holds('a', { since: NOW - 2.5 * MINUTE })];
    const waiting = [waits('b', { forMs: MINUTE })];
    expect(share([place('A', 'DC-1', 1, 0)], waiting, [fresh]).yields).toEqual([]);
    expect(share([place('A', 'DC-1', 1, 0)], waiting, [old]).yields).toHaveLength(1);
  });

  test('is not preempted where the worker could not run, or not together', () => {
    const holding = [holds('a', { dataCenterId: 'DC-2' }), holds('a', { dataCenterId: 'DC-2' })];
    const capacities = [place('A', 'DC-2', 2, 0)];
    expect(share(capacities, [waits('b', { forMs: MINUTE, dataCenterIds: ['DC-1'] })], holding).yields).toEqual([]);
    expect(share(capacities, [waits('b', { forMs: MINUTE, count: 3 })], holding).yields).toEqual([]);
  });
});

describe('users', () => {
  test('share evenly, however many endpoints each of them has', () => {
    const many = Array.from({ length: 9 }, (_, i) => waits(`many-${i}`, { userId: 'many', forMs: 9_000 }));
    const few = Array.from({ length: 4 }, () => waits('few', { userId: 'few', forMs: 10 }));
    const { placed } = share([place('A', 'DC-1', 8)], [...many, ...few]);
    expect([...placed.keys()].filter((id) => id.startsWith('few'))).toHaveLength(4);
  });

  test('divide their share among their own endpoints', () => {
    const holding = [holds('big', { userId: 'u' }), holds('big', { userId: 'u' }), holds('other')];
    const { yields } = share([place('A', 'DC-1', 3, 0)], [waits('new', { userId: 'u', forMs: MINUTE })], holding);
    expect(yields).toMatchObject([{ endpointId: 'big', cause: 'share' }]);
  });

  test('among equals, the one goes first that has waited longest for the share: many endpoints are not many turns', () => {
    const many = Array.from({ length: 10 }, (_, i) => waits(`many-${i}`, { userId: 'many', forMs: 50_000 - i }));
    const one = waits('one', { forMs: 6_000 });
    expect([...share([place('A', 'DC-1', 1)], [...many, one]).placed.keys()]).toEqual([one.id]);
    const later = waits('later', { forMs: 4_000 });
    expect([...share([place('A', 'DC-1', 1)], [...many, later]).placed.keys()]).toEqual([many[0]!.id]);
  });

  test('get back what others borrow of their quota at once, all of it, whatever workers.min says', () => {
    const holding = [holds('b'), holds('b'), holds('b'), holds('b')];
    const waiting = [waits('a', { forMs: 10 }), waits('a', { forMs: 10 }), waits('a', { forMs: 10 })];
    const quotaOf = (userId: string) => (userId === 'a' ? 2 : 0);
    const { yields } = share([place('A', 'DC-1', 4, 0)], waiting, holding, { quotaOf, minOf: () => 4 });
    expect(yields.map(({ cause, level }) => [cause, level])).toEqual([
      ['quota', 1],
      ['quota', 2],
    ]);
    const leaving = holding.map((one) => {
      return yields.some(({ id }) => id === one.id) ? { ...one, isLeaving: true, yieldsTo: 'a' } : one;
    });
    expect(share([place('A', 'DC-1', 4, 0)], waiting, leaving, { quotaOf }).yields).toEqual([]);
  });

  test('never lose their own quota to others', () => {
    const holding = [holds('b'), holds('b'), holds('b')];
    const quotaOf = (userId: string) => (userId === 'b' ? 3 : 0);
    const waiting = [waits('a', { forMs: 10 * MINUTE })];
    expect(share([place('A', 'DC-1', 3, 0)], waiting, holding, { quotaOf }).yields).toEqual([]);
    expect(share([place('A', 'DC-1', 3, 0)], waiting, holding).yields).toHaveLength(1);
  });

  test('share evenly what is beyond their quotas', () => {
    const quotaOf = (userId: string) => (userId === 'a' ? 4 : 0);
    const waiting = ['a', 'b'].flatMap((id) => Array.from({ length: 9 }, () => waits(id)));
    const { placed } = share([place('A', 'DC-1', 8)], waiting, [], { quotaOf });
    expect([...placed.keys()].filter((id) => id.startsWith('a-'))).toHaveLength(6);
  });
});

describe('a roll-out without free GPUs', () => {
  const old = (change: Partial<HoldingWorker> = {}) => holds('a', { weight: 0, ...change });
  const full = (total: number) => [place('A', 'DC-1', total, 0)];

  test('lets an old worker leave first, at once: an idle one, or one that finishes its job', () => {
    const [busy, idle] = [old(), old({ isBusy: false, since: NOW })];
    const waiting = waits('a', { forMs: 0 });
    expect(share(full(2), [waiting], [busy, idle]).yields).toMatchObject([
      { id: idle.id, cause: 'rollout', forWorkerId: waiting.id, forEndpointId: 'a' },
    ]);
    expect(share(full(1), [waiting], [busy]).yields).toMatchObject([{ id: busy.id }]);
  });

  test('goes one at a time: none leaves while another one leaves or its replacement becomes ready', () => {
    const waiting = [waits('a'), waits('a')];
    const leaving = old({ isLeaving: true, yieldsTo: 'a' });
    const { yields, missing } = share(full(3), waiting, [leaving, old(), old()]);
    expect(yields).toEqual([]);
    expect(missing.get(waiting[0]!.id)).toContain(`; it follows worker ${leaving.id}, which finishes its jobs first`);
    expect(share(full(3), waiting, [holds('a', { isReady: false }), old(), old()]).yields).toEqual([]);
    expect(share(full(3), waiting, [holds('a'), old(), old()]).yields).toHaveLength(1);
  });

  test('lets no second worker leave in the run that places the replacement of the first', () => {
    const { placed, yields } = share([place('A', 'DC-1', 2, 1)], [waits('a'), waits('a')], [old()]);
    expect(placed.size).toBe(1);
    expect(yields).toEqual([]);
  });

  test('keeps what the old worker left for the new one, though another endpoint has less', () => {
    const reserved = [{ endpointId: 'a', pool: 'A', gpuTypeId: 'type of A', dataCenterId: 'DC-1', count: 1 }];
    const waiting = [waits('a', { forMs: 1 }), waits('b', { forMs: 9_000 })];
    const { placed } = share([place('A', 'DC-1', 2, 1)], waiting, [holds('a')], { reserved });
    expect([...placed.keys()]).toEqual([waiting[0]!.id]);
  });

  test('takes down no worker where the new one could not run, or would still not fit', () => {
    const elsewhere = old({ pool: 'B' });
    const capacities = [place('A', 'DC-1', 1, 0), place('B', 'DC-1', 1, 0)];
    expect(share(capacities, [waits('a')], [elsewhere, holds('c')]).yields).toEqual([]);
    expect(share(full(2), [waits('a', { count: 2 })], [old(), holds('c')]).yields).toEqual([]);
  });

  test('takes the GPUs of several old workers for a new one that needs them all', () => {
    expect(share(full(2), [waits('a', { count: 2 })], [old(), old()]).yields).toHaveLength(2);
  });

  test('takes down no further worker once two starts of the new release have failed', () => {
    const recordOf = () => ({ failures: 2, isBroken: true, mayPreempt: false });
    expect(share(full(2), [waits('a')], [old(), old()], { recordOf }).yields).toEqual([]);
  });

  test('lets an old worker leave also when the runtime lacks something else than GPUs', () => {
    const worker = { id: 'cpu', endpointId: 'a', userId: 'a', request: null, waitsSince: NOW, wasRefused: true };
    const running = old({ pool: null, dataCenterId: null, count: 0 });
    expect(share([], [worker], [running])).toMatchObject({ yields: [{ id: running.id, cause: 'rollout' }] });
  });
});

describe('an endpoint whose starts fail', () => {
  const recordOf = (endpointId: string): StartRecord =>
    endpointId === 'bad' ? { failures: 2, isBroken: true, mayPreempt: false } : NO_FAILURES;

  test('has nobody preempted for it, not even within its quota', () => {
    const waiting = [waits('bad', { forMs: 4 * MINUTE })];
    const holding = [holds('a'), holds('a')];
    expect(share([place('A', 'DC-1', 2, 0)], waiting, holding, { recordOf }).yields).toEqual([]);
    expect(share([place('A', 'DC-1', 2, 0)], waiting, holding, { recordOf, quotaOf: () => 2 }).yields).toEqual([]);
    expect(share([place('A', 'DC-1', 2, 0)], waiting, holding).yields).toHaveLength(1);
  });

  test('gets what is free after everybody else, though it holds least; once it has waited for five minutes, in turn', () => {
    const waiting = [waits('bad', { forMs: 4 * MINUTE }), waits('good', { forMs: 1 })];
    const holding = [holds('good')];
    const free = [place('A', 'DC-1', 2, 1)];
    expect([...share(free, waiting, holding, { recordOf }).placed.keys()]).toEqual([waiting[1]!.id]);
    const patient = [waits('bad', { forMs: 5 * MINUTE }), waiting[1]!];
    expect([...share(free, patient, holding, { recordOf }).placed.keys()]).toEqual([patient[0]!.id]);
  });

  test('keeps its place in the queue after one failure, or a slow start, but has nobody preempted', () => {
    const slow = () => ({ failures: 1, isBroken: false, mayPreempt: false });
    const waiting = [waits('b', { forMs: MINUTE })];
    expect(share([place('A', 'DC-1', 2, 0)], waiting, [holds('a'), holds('a')], { recordOf: slow }).yields).toEqual([]);
  });
});

describe('what was given up a moment ago', () => {
  test('is not taken again from the same endpoint for the same need', () => {
    const waiting = [waits('b', { forMs: MINUTE })];
    const holding = [holds('a'), holds('a')];
    const past = [{ fromEndpointId: 'a', toEndpointId: 'b', level: 1 }];
    expect(share([place('A', 'DC-1', 2, 0)], waiting, holding, { past }).yields).toEqual([]);
    const other = [{ fromEndpointId: 'a', toEndpointId: 'b', level: 2 }];
    expect(share([place('A', 'DC-1', 2, 0)], waiting, holding, { past: other }).yields).toHaveLength(1);
    const from = share([place('A', 'DC-1', 4, 0)], waiting, [...holding, holds('c'), holds('c')], { past }).yields;
    expect(from).toMatchObject([{ endpointId: 'c' }]);
  });

  test('a worker that still starts has not had its turn', () => {
    const starting = holds('a', { isReady: false });
    expect(share([place('A', 'DC-1', 1, 0)], [waits('b', { forMs: MINUTE })], [starting]).yields).toEqual([]);
  });
});

test('GPUs that can never be gathered are not kept idle for a worker that needs them together', () => {
  const big = waits('big', { count: 4, forMs: 10 * MINUTE });
  const small = waits('small');
  const pinned = holds('pinned');
  const minOf = (endpointId: string) => (endpointId === 'pinned' ? 1 : 0);
  const { placed } = share([place('A', 'DC-1', 4, 3)], [big, small], [pinned], { minOf });
  expect([...placed.keys()]).toEqual([small.id]);
});
