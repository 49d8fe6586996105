import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PoolCapacity } from './place-worker.ts';
import { type HoldingWorker, type Sharing, shareCapacity, type WaitingWorker } from './share-capacity.ts';

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
function waits(endpointId: string, change: { count?: number; forMs?: number; dataCenterIds?: string[] } = {}) {
  count += 1;
  const request = { pools: ['A'], count: change.count ?? 1, dataCenterIds: change.dataCenterIds ?? [] };
  return { id: `${endpointId}-${count}`, endpointId, request, waitsSince: NOW - (change.forMs ?? 1_000) };
}
function holds(endpointId: string, change: Partial<HoldingWorker> = {}): HoldingWorker {
  count += 1;
  const since = NOW - 10 * MINUTE;
  const base = { pool: 'A', dataCenterId: 'DC-1', count: 1, since, isBusy: true, isLeaving: false };
  return { id: `${endpointId}-${count}`, endpointId, ...base, ...change };
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
    const worker = { id: 'cpu', endpointId: 'a', request: null, waitsSince: NOW };
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
    const { preempted } = share(
      [place('A', 'DC-1', 2, 0)],
      [waits('b', { forMs: MINUTE - 1 })],
      [holds('a'), holds('a')],
    );
    expect(preempted).toEqual([]);
  });

  test('is then shared evenly: the one that holds most loses an idle worker, or the one that ran longest', () => {
    const old = holds('a', { since: NOW - 20 * MINUTE });
    const holding = [holds('a'), old, holds('a'), holds('c')];
    const waiting = waits('b', { forMs: 90_000 });
    const { preempted } = share([place('A', 'DC-1', 4, 0)], [waiting], holding);
    expect(preempted).toEqual([
      {
        id: old.id,
        forWorkerId: waiting.id,
        held: 0,
        waitedSeconds: 90,
      },
    ]);
    const idle = holds('a', { isBusy: false });
    expect(share([place('A', 'DC-1', 5, 0)], [waiting], [...holding, idle]).preempted[0]!.id).toBe(idle.id);
  });

  test('stays theirs when the one that waits has as much already', () => {
    const holding = [holds('a'), holds('a'), holds('b')];
    expect(share([place('A', 'DC-1', 3, 0)], [waits('b', { forMs: 3 * MINUTE })], holding).preempted).toEqual([]);
  });

  test('is never preempted below workers.min', () => {
    const holding = [holds('a'), holds('a')];
    const { preempted } = share([place('A', 'DC-1', 2, 0)], [waits('b', { forMs: MINUTE })], holding, {
      minOf: () => 2,
    });
    expect(preempted).toEqual([]);
  });

  test('is not preempted twice while the first worker finishes its job', () => {
    const holding = [holds('a', { isLeaving: true }), holds('a')];
    expect(share([place('A', 'DC-1', 2, 0)], [waits('b', { forMs: MINUTE })], holding).preempted).toEqual([]);
  });

  test('even a single GPU changes hands when the other endpoint has nothing at all', () => {
    const [fresh, old] = [holds('a', { since: NOW - MINUTE + 1 }), holds('a')];
    const waiting = [waits('b', { forMs: MINUTE })];
    expect(share([place('A', 'DC-1', 1, 0)], waiting, [fresh]).preempted).toEqual([]);
    expect(share([place('A', 'DC-1', 1, 0)], waiting, [old]).preempted).toHaveLength(1);
  });

  test('is not preempted where the worker could not run, or not together', () => {
    const holding = [holds('a', { dataCenterId: 'DC-2' }), holds('a', { dataCenterId: 'DC-2' })];
    const capacities = [place('A', 'DC-2', 2, 0)];
    expect(share(capacities, [waits('b', { forMs: MINUTE, dataCenterIds: ['DC-1'] })], holding).preempted).toEqual([]);
    expect(share(capacities, [waits('b', { forMs: MINUTE, count: 3 })], holding).preempted).toEqual([]);
  });
});

interface World {
  capacities: PoolCapacity[];
  /** How many workers of how many GPUs each endpoint always wants. */
  wants: { id: string; workers: number; gpus: number; pools: readonly string[] }[];
}
const anyWorld: fc.Arbitrary<World> = fc.record({
  capacities: fc
    .uniqueArray(
      fc.record({
        pool: fc.constantFrom('A', 'B'),
        at: fc.constantFrom('DC-1', 'DC-2'),
        total: fc.integer({ min: 1, max: 5 }),
      }),
      {
        minLength: 1,
        selector: ({ pool, at }) => pool + at,
      },
    )
    .map((places) => places.map(({ pool, at, total }) => place(pool, at, total))),
  wants: fc
    .array(
      fc.record({
        workers: fc.integer({ min: 1, max: 6 }),
        gpus: fc.integer({ min: 1, max: 3 }),
        pools: fc.constantFrom(['A'], ['B'], ['A', 'B'], ['B', 'A']),
      }),
      { minLength: 1, maxLength: 5 },
    )
    .map((wants) => wants.map((want, i) => ({ id: `e${i}`, ...want }))),
});

/** Plays `rounds` of half a minute: placed workers run for good, and preempted ones are gone in the next round. */
function play({ capacities, wants }: World, rounds: number): { placedEver: Set<string>; used: HoldingWorker[][] } {
  const placedEver = new Set<string>();
  const used: HoldingWorker[][] = [];
  let holding: HoldingWorker[] = [];
  let waiting: WaitingWorker[] = [];
  let serial = 0;
  for (let round = 0; round < rounds; round++) {
    const now = NOW + round * 30_000;
    holding = holding.filter(({ isLeaving }) => !isLeaving);
    for (const { id, workers, gpus, pools } of wants) {
      const present = [...holding, ...waiting].filter(({ endpointId }) => endpointId === id).length;
      for (let missing = workers - present; missing > 0; missing--) {
        serial += 1;
        waiting.push({
          id: `w${serial}`,
          endpointId: id,
          request: { pools, count: gpus, dataCenterIds: [] },
          waitsSince: now,
        });
      }
    }
    const free = capacities.map((one) => ({
      ...one,
      free: one.total - sum(holding.filter((each) => each.pool === one.pool && each.dataCenterId === one.dataCenterId)),
    }));
    const { placed, preempted } = shareCapacity({ capacities: free, waiting, holding, minOf: () => 0, now });
    for (const { id, endpointId, request } of waiting) {
      const at = placed.get(id);
      if (!at) continue;
      placedEver.add(endpointId);
      holding.push({
        id,
        endpointId,
        pool: at.pool!,
        dataCenterId: at.dataCenterId!,
        count: request!.count,
        since: now,
        isBusy: true,
        isLeaving: false,
      });
    }
    waiting = waiting.filter(({ id }) => !placed.has(id));
    const isPreempted = new Set(preempted.map(({ id }) => id));
    holding = holding.map((each) => (isPreempted.has(each.id) ? { ...each, isLeaving: true } : each));
    used.push(holding);
  }
  return { placedEver, used };
}
const sum = (holding: readonly HoldingWorker[]) => holding.reduce((total, { count: gpus }) => total + gpus, 0);

describe('in any world', () => {
  test('no GPU is given away twice, and each worker gets an answer', () => {
    fc.assert(
      fc.property(anyWorld, (world) => {
        for (const holding of play(world, 8).used) {
          for (const { pool, dataCenterId, total } of world.capacities) {
            const here = holding.filter((one) => one.pool === pool && one.dataCenterId === dataCenterId);
            expect(sum(here)).toBeLessThanOrEqual(total);
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  test('no endpoint starves that would fit on an empty machine, whatever the others want', () => {
    fc.assert(
      fc.property(anyWorld, (world) => {
        const { placedEver } = play(world, 60);
        for (const { id, gpus, pools } of world.wants) {
          const fits = world.capacities.some(({ pool, total }) => pools.includes(pool) && total >= gpus);
          expect([id, placedEver.has(id)]).toEqual([id, fits]);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('endpoints that want the same end up with equal shares, plus or minus one worker', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 2, max: 4 }), (gpus, endpoints) => {
        const wants = Array.from({ length: endpoints }, (_, i) => ({ id: `e${i}`, workers: 9, gpus: 1, pools: ['A'] }));
        const last = play({ capacities: [place('A', 'DC-1', gpus)], wants }, 40).used.at(-1)!;
        const shares = wants.map(({ id }) => last.filter(({ endpointId }) => endpointId === id).length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
      { numRuns: 100 },
    );
  });
});
