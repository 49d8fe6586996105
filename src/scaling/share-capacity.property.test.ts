import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { PoolCapacity } from './place-worker.ts';
import { type Share, shareCapacity } from './share-capacity.ts';
import type { HoldingWorker, PastYield, Reservation, WaitingWorker } from './sharing.ts';

vi.setConfig({ testTimeout: 120_000 });

const START = 10_000_000;
const ROUND_MS = 5_000;
const FIVE_MINUTES_MS = 300_000;
const MINUTE_ROUNDS = 60_000 / ROUND_MS;

/** Endpoints that always want the same, on machines that never change. */
interface World {
  capacities: PoolCapacity[];
  wants: { id: string; userId: string; workers: number; gpus: number; pools: readonly string[] }[];
}

interface Played {
  /** By round, after the placement. */
  rounds: { now: number; holding: HoldingWorker[]; waiting: WaitingWorker[]; free: PoolCapacity[]; share: Share }[];
  yields: (PastYield & { at: number })[];
}

const gpus = (pool: string, total: number, at = 'DC-1'): PoolCapacity => {
  return { pool, gpuTypeId: `type of ${pool}`, dataCenterId: at, total, free: total };
};
const anyWorld = (maxGpus: number): fc.Arbitrary<World> =>
  fc.record({
    capacities: fc
      .uniqueArray(
        fc.record({
          pool: fc.constantFrom('A', 'B'),
          at: fc.constantFrom('DC-1', 'DC-2'),
          total: fc.integer({ min: 1, max: 5 }),
        }),
        { minLength: 1, selector: ({ pool, at }) => pool + at },
      )
      .map((places) => places.map(({ pool, at, total }) => gpus(pool, total, at))),
    wants: fc
      .array(
        fc.record({
          userId: fc.constantFrom('u1', 'u2', 'u3'),
          workers: fc.integer({ min: 1, max: 6 }),
          gpus: fc.integer({ min: 1, max: maxGpus }),
          pools: fc.constantFrom(['A'], ['B'], ['A', 'B'], ['B', 'A']),
        }),
        { minLength: 1, maxLength: 5 },
      )
      .map((wants) => wants.map((want, i) => ({ id: `e${i}`, ...want }))),
  });

/** Plays rounds of five seconds. Placed workers run for good; one that leaves finishes a job for up to four rounds. */
class Game {
  readonly #world: World;
  readonly #played: Played = { rounds: [], yields: [] };
  #holding: (HoldingWorker & { endsAt: number })[] = [];
  #waiting: WaitingWorker[] = [];
  #serial = 0;

  constructor(world: World, holding: readonly HoldingWorker[] = []) {
    this.#world = world;
    this.#holding = holding.map((one) => ({ ...one, endsAt: Number.POSITIVE_INFINITY }));
  }

  play(rounds: number): Played {
    for (let round = 0; round < rounds; round++) this.#round(START + round * ROUND_MS);
    return this.#played;
  }

  #round(now: number): void {
    const ended = this.#holding.filter(({ endsAt }) => endsAt <= now);
    this.#holding = this.#holding.filter(({ endsAt }) => endsAt > now);
    this.#addMissing(now);
    const free = this.#world.capacities.map((one) => {
      const here = this.#holding.filter((each) => each.pool === one.pool && each.dataCenterId === one.dataCenterId);
      return { ...one, free: one.total - here.reduce((sum, { count }) => sum + count, 0) };
    });
    const reserved = ended.flatMap(({ yieldsTo, pool, count, dataCenterId }): Reservation[] => {
      const place = { pool: pool!, gpuTypeId: null, dataCenterId: dataCenterId! };
      return yieldsTo === null ? [] : [{ endpointId: yieldsTo, count, ...place }];
    });
    const past = this.#played.yields.filter(({ at }) => now - at < FIVE_MINUTES_MS);
    const { waiting, holding } = { waiting: this.#waiting, holding: this.#holding };
    const share = shareCapacity({ capacities: free, waiting, holding, reserved, past, minOf: () => 0, now });
    this.#place(share, free, now);
    this.#leave(share, now);
    const left = { holding: this.#holding.map((one) => ({ ...one })), waiting: [...this.#waiting] };
    this.#played.rounds.push({ now, ...left, free, share });
  }

  #addMissing(now: number): void {
    for (const { id, userId, workers, gpus: count, pools } of this.#world.wants) {
      const staying = this.#holding.filter((one) => one.endpointId === id && !one.isLeaving).length;
      const present = staying + this.#waiting.filter((one) => one.endpointId === id).length;
      for (let missing = workers - present; missing > 0; missing--) {
        this.#serial += 1;
        const request = { pools, count, dataCenterIds: [] };
        this.#waiting.push({ id: `w${this.#serial}`, endpointId: id, userId, request, waitsSince: now });
      }
    }
  }

  #place({ placed }: Share, free: PoolCapacity[], now: number): void {
    for (const { id, endpointId, userId, request } of this.#waiting) {
      const at = placed.get(id);
      if (!at) continue;
      const { pool, dataCenterId } = at;
      free.find((one) => one.pool === pool && one.dataCenterId === dataCenterId)!.free -= request!.count;
      const runs = { isReady: true, isBusy: true, weight: 1, isLeaving: false, yieldsTo: null };
      const holder = { id, endpointId, userId, pool, dataCenterId, count: request!.count, since: now, ...runs };
      this.#holding.push({ ...holder, endsAt: Number.POSITIVE_INFINITY });
    }
    this.#waiting = this.#waiting.filter(({ id }) => !placed.has(id));
  }

  #leave({ yields }: Share, now: number): void {
    for (const { id, endpointId, forEndpointId, level } of yields) {
      const holder = this.#holding.find((one) => one.id === id)!;
      expect(holder.isLeaving).toBe(false);
      holder.isLeaving = true;
      holder.yieldsTo = forEndpointId;
      holder.endsAt = now + ((this.#serial % 4) + 1) * ROUND_MS;
      this.#played.yields.push({ at: now, fromEndpointId: endpointId, toEndpointId: forEndpointId, level });
    }
  }
}

describe('in any world', () => {
  test('no GPU is given away twice', () => {
    fc.assert(
      fc.property(anyWorld(3), (world) => {
        for (const { free } of new Game(world).play(60).rounds) {
          for (const one of free) expect(one.free).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 200 },
    );
  });

  test('no endpoint starves that would fit on an empty machine, whatever the others want', () => {
    fc.assert(
      fc.property(anyWorld(3), (world) => {
        const { rounds } = new Game(world).play(60 * MINUTE_ROUNDS);
        const everHeld = new Set(rounds.flatMap(({ holding }) => holding.map(({ endpointId }) => endpointId)));
        for (const { id, gpus: count, pools } of world.wants) {
          const fits = world.capacities.some(({ pool, total }) => pools.includes(pool) && total >= count);
          expect([id, everHeld.has(id)]).toEqual([id, fits]);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('neither a small request that nibbles nor a user’s share elsewhere starves one for two GPUs', () => {
    const wants = [
      { id: 'e0', userId: 'u2', workers: 1, gpus: 2, pools: ['A'] },
      { id: 'e1', userId: 'u1', workers: 1, gpus: 2, pools: ['A'] },
      { id: 'e2', userId: 'u1', workers: 1, gpus: 1, pools: ['B'] },
      { id: 'e3', userId: 'u3', workers: 1, gpus: 1, pools: ['A'] },
    ];
    const { rounds, yields } = new Game({ capacities: [gpus('A', 2), gpus('B', 1)], wants }).play(60 * MINUTE_ROUNDS);
    const held = new Set(rounds.flatMap(({ holding }) => holding.map(({ endpointId }) => endpointId)));
    expect([...held].sort()).toEqual(['e0', 'e1', 'e2', 'e3']);
    // Each worker that left for two GPUs left for good: e0 or e1 ran before anybody left for it again.
    const inVain = yields.filter(({ toEndpointId, fromEndpointId, at }) => {
      const next = yields.find((one) => one.at > at);
      return next?.toEndpointId === toEndpointId && next.fromEndpointId === fromEndpointId;
    });
    expect(inVain).toEqual([]);
  });

  test('turns of others that never end at the same time starve no endpoint that needs all of their GPUs', () => {
    const wants = [
      { id: 'e0', userId: 'u3', workers: 2, gpus: 1, pools: ['A'] },
      { id: 'e1', userId: 'u1', workers: 1, gpus: 1, pools: ['A'] },
      { id: 'e2', userId: 'u2', workers: 1, gpus: 2, pools: ['A'] },
      { id: 'e3', userId: 'u3', workers: 1, gpus: 3, pools: ['A'] },
    ];
    const { rounds } = new Game({ capacities: [gpus('A', 3)], wants }).play(40 * MINUTE_ROUNDS);
    const held = new Set(rounds.flatMap(({ holding }) => holding.map(({ endpointId }) => endpointId)));
    expect([...held].sort()).toEqual(['e0', 'e1', 'e2', 'e3']);
  });

  test('no GPU is idle while an endpoint waits for it', () => {
    fc.assert(
      fc.property(anyWorld(1), (world) => {
        for (const { waiting, free } of new Game(world).play(10 * MINUTE_ROUNDS).rounds) {
          for (const { request } of waiting) {
            const idle = free.filter(({ pool, free: count }) => request!.pools.includes(pool) && count > 0);
            expect(idle).toEqual([]);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  test('no endpoint preempts another twice in five minutes for the same need', () => {
    fc.assert(
      fc.property(anyWorld(3), (world) => {
        const { yields } = new Game(world).play(30 * MINUTE_ROUNDS);
        const key = ({ fromEndpointId, toEndpointId, level }: PastYield) =>
          `${fromEndpointId} ${toEndpointId} ${level}`;
        for (const alike of Map.groupBy(yields, key).values()) {
          for (const [i, { at }] of alike.entries()) {
            const agoMs = i === 0 ? FIVE_MINUTES_MS : at - alike[i - 1]!.at;
            if (agoMs > 0) expect(agoMs).toBeGreaterThanOrEqual(FIVE_MINUTES_MS); // several for one need leave together
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  test('where each endpoint can have a GPU, sharing comes to rest: no two of them swap for ever', () => {
    const wants = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(wants, fc.nat(6), fc.integer({ min: 1, max: 3 }), (workers, more, users) => {
        const world: World = {
          capacities: [gpus('A', workers.length + more)],
          wants: workers.map((count, i) => {
            return { id: `e${i}`, userId: `u${i % users}`, workers: count, gpus: 1, pools: ['A'] };
          }),
        };
        const { yields } = new Game(world).play(60 * MINUTE_ROUNDS);
        const last = yields.at(-1)?.at ?? START;
        expect(last - START).toBeLessThan(30 * 60_000);
      }),
      { numRuns: 60, examples: [[[1, 2, 1], 0, 2]] },
    );
  });

  test('endpoints that want the same end up with equal shares, plus or minus one worker', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 2, max: 4 }), (total, endpoints) => {
        const wants = Array.from({ length: endpoints }, (_, i) => {
          return { id: `e${i}`, userId: 'u', workers: 9, gpus: 1, pools: ['A'] };
        });
        const { holding } = new Game({ capacities: [gpus('A', total)], wants }).play(20 * MINUTE_ROUNDS).rounds.at(-1)!;
        const staying = holding.filter(({ isLeaving }) => !isLeaving);
        const shares = wants.map(({ id }) => staying.filter(({ endpointId }) => endpointId === id).length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
      { numRuns: 40 },
    );
  });
});

test('200 endpoints of 20 users: within five minutes each user has the same share, and keeps it within 5 % over any minute', () => {
  const users = Array.from({ length: 20 }, (_, i) => `u${i}`);
  const wants = Array.from({ length: 200 }, (_, i) => {
    // The first user has a hundred endpoints, the others five or six each.
    const userId = i < 100 ? users[0]! : users[1 + (i % 19)]!;
    return { id: `e${i}`, userId, workers: 40, gpus: 1, pools: ['A'] };
  });
  const world: World = { capacities: [gpus('A', 400)], wants };
  const runs = { isReady: true, isBusy: true, weight: 1, isLeaving: false, yieldsTo: null };
  const place = { pool: 'A', dataCenterId: 'DC-1', count: 1, since: START - 600_000 };
  const hog = Array.from({ length: 400 }, (_, i): HoldingWorker => {
    return { id: `h${i}`, endpointId: `e${i % 100}`, userId: users[0]!, ...place, ...runs };
  });
  const { rounds } = new Game(world, hog).play(11 * MINUTE_ROUNDS);
  const settled = rounds.slice(5 * MINUTE_ROUNDS);
  for (let from = 0; from + MINUTE_ROUNDS <= settled.length; from++) {
    const window = settled.slice(from, from + MINUTE_ROUNDS);
    for (const userId of users) {
      const held = window.map(({ holding }) => holding.filter((one) => one.userId === userId).length);
      const mean = held.reduce((sum, count) => sum + count, 0) / MINUTE_ROUNDS;
      expect([userId, Math.abs(mean - 20) <= 1]).toEqual([userId, true]);
    }
  }
});
