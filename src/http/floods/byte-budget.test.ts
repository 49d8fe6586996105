import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Failure } from '../../core/errors.ts';
import { ByteBudget, type ByteReservation } from './byte-budget.ts';

const LIMIT = 100;
const TIMEOUT_MS = 1_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function budget(maxWaiting = 1_000, timeoutMs = TIMEOUT_MS): ByteBudget {
  return new ByteBudget({
    limitBytes: LIMIT,
    maxWaiting,
    timeoutMs,
    refusal: () => new Failure('unavailable', 'no room'),
    clock: { now: () => Date.now() },
  });
}

/** The outcome of a wait, known once the microtasks have run. */
function watch({ granted }: ReturnType<ByteBudget['reserve']>): { got?: ByteReservation; refused?: Failure } {
  const seen: { got?: ByteReservation; refused?: Failure } = {};
  granted.then(
    (got) => {
      seen.got = got;
    },
    (refused: Failure) => {
      seen.refused = refused;
    },
  );
  return seen;
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe('reserving', () => {
  test('succeeds at once while there is room', () => {
    const bytes = budget();
    expect(bytes.tryReserve(60)).toBeDefined();
    expect(bytes.tryReserve(40)).toBeDefined();
    expect(bytes.tryReserve(1)).toBeUndefined();
    expect(bytes.usedBytes).toBe(100);
  });

  test('a single body larger than the limit is granted alone', () => {
    const bytes = budget();
    const large = bytes.tryReserve(500)!;
    expect(bytes.tryReserve(1)).toBeUndefined();
    large.release();
    expect(bytes.tryReserve(1)).toBeDefined();
    expect(bytes.tryReserve(500)).toBeUndefined();
  });

  test('nothing passes what waits, however small it is', async () => {
    const bytes = budget();
    const first = bytes.tryReserve(60)!;
    const large = watch(bytes.reserve(70));
    const small = watch(bytes.reserve(10));
    await settle();
    expect(bytes.tryReserve(1)).toBeUndefined();
    expect([large.got, small.got]).toEqual([undefined, undefined]);
    first.release();
    await settle();
    expect(large.got).toBeDefined();
    expect(small.got).toBeDefined();
  });

  test('too many waiting: refused at once', async () => {
    const bytes = budget(1);
    bytes.tryReserve(100);
    watch(bytes.reserve(1));
    const second = watch(bytes.reserve(1));
    await settle();
    expect(second.refused).toMatchObject({ kind: 'unavailable' });
  });
});

describe('waiting', () => {
  test('ends after the timeout, each at its own time', async () => {
    const bytes = budget();
    bytes.tryReserve(100);
    const first = watch(bytes.reserve(50));
    await vi.advanceTimersByTimeAsync(600);
    const second = watch(bytes.reserve(50));
    await vi.advanceTimersByTimeAsync(500);
    expect(first.refused).toBeDefined();
    expect(second.refused).toBeUndefined();
    await vi.advanceTimersByTimeAsync(600);
    expect(second.refused).toBeDefined();
    expect(bytes.waiting).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('lasts as long as the line moves, and a timeout longer when it has stopped', async () => {
    const bytes = budget();
    let held = bytes.tryReserve(100)!;
    const waiting = Array.from({ length: 4 }, () => watch(bytes.reserve(100)));
    for (const waiter of waiting.slice(0, 3)) {
      await vi.advanceTimersByTimeAsync(TIMEOUT_MS * 0.9);
      held.release();
      await settle();
      expect(waiter.got).toBeDefined();
      held = waiter.got!;
    }
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS * 0.9);
    expect(waiting[3]!.refused).toBeUndefined();
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS * 0.2);
    expect(waiting[3]!.refused).toBeDefined();
  });

  test('when the first is withdrawn, the next that fits is granted', async () => {
    const bytes = budget();
    bytes.tryReserve(60);
    const large = bytes.reserve(70);
    const gone = watch(large);
    const small = watch(bytes.reserve(10));
    large.cancel();
    large.cancel();
    await settle();
    expect(gone.refused).toBeDefined();
    expect(small.got).toBeDefined();
  });

  test('ends for all at once when they are dismissed, and what is held stays', async () => {
    const bytes = budget();
    const held = bytes.tryReserve(100)!;
    const waiting = ['a', 'a', 'b'].map((owner) => watch(bytes.reserve(10, owner)));
    bytes.dismissAll();
    await settle();
    expect(waiting.every(({ refused }) => refused)).toBe(true);
    expect([bytes.usedBytes, bytes.waiting]).toEqual([100, 0]);
    held.release();
    expect(bytes.tryReserve(100)).toBeDefined();
  });
});

describe('owners', () => {
  test('take turns: one with many waiters keeps another back for one turn only', async () => {
    const bytes = budget();
    const held = bytes.tryReserve(100, 'a')!;
    const many = Array.from({ length: 5 }, () => watch(bytes.reserve(100, 'a')));
    const one = watch(bytes.reserve(100, 'b'));
    held.release();
    await settle();
    expect(many.filter(({ got }) => got)).toHaveLength(1);
    many[0]!.got!.release();
    await settle();
    expect(one.got).toBeDefined();
  });

  test('with as many waiting as may, the one with the most loses its latest', async () => {
    const bytes = budget(3);
    bytes.tryReserve(100, 'a');
    const many = Array.from({ length: 4 }, () => watch(bytes.reserve(100, 'a')));
    const one = watch(bytes.reserve(100, 'b'));
    await settle();
    expect(many.map(({ refused }) => refused !== undefined)).toEqual([false, false, true, true]);
    expect([one.refused, bytes.waiting]).toEqual([undefined, 3]);
  });

  /** Reserves what depends on a slow peer. */
  function holdSlowly(bytes: ByteBudget, owner: string, size: number, yielded: string[]): void {
    const held = bytes.tryReserve(size, owner)!;
    held.onYield = () => {
      yielded.push(`${owner}${size}`);
      held.release();
    };
  }

  test('above their share yield what depends on a slow peer, the oldest first, once another has waited a second', async () => {
    const bytes = budget(10, 5_000);
    const yielded: string[] = [];
    for (const size of [40, 30]) holdSlowly(bytes, 'a', size, yielded);
    holdSlowly(bytes, 'b', 20, yielded);
    await vi.advanceTimersByTimeAsync(2_000);
    const own = watch(bytes.reserve(35, 'a'));
    const waiting = watch(bytes.reserve(35, 'c'));
    await vi.advanceTimersByTimeAsync(900);
    expect(yielded).toEqual([]);
    await vi.advanceTimersByTimeAsync(100);
    expect(yielded).toEqual(['a40']);
    expect([own.got, waiting.got?.bytes]).toEqual([undefined, 35]);
  });

  test('wait for no owner with a share whose next reservation does not fit', async () => {
    const bytes = budget(10, 30_000);
    const held = bytes.tryReserve(40, 'a')!;
    bytes.tryReserve(55, 'b');
    const large = watch(bytes.reserve(60, 'b'));
    const small = watch(bytes.reserve(5, 'a'));
    await settle();
    expect(small.got).toBeDefined();
    held.release();
    small.got!.release();
    const other = watch(bytes.reserve(41, 'a'));
    await settle();
    expect(other.got).toBeDefined();
    expect(large.got).toBeUndefined();
  });

  test('below the share let nobody pass', async () => {
    const bytes = budget(10, 30_000);
    const yielded: string[] = [];
    holdSlowly(bytes, 'c', 48, yielded);
    holdSlowly(bytes, 'b', 42, yielded);
    const large = watch(bytes.reserve(20, 'd'));
    const small = watch(bytes.reserve(5, 'a'));
    await vi.advanceTimersByTimeAsync(900);
    expect(small.got).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2_000);
    expect([large.got, small.got, yielded]).toEqual([expect.anything(), expect.anything(), ['c48']]);
  });

  test('yield to no owner above the share, and nothing in its first two seconds', async () => {
    const bytes = budget(10, 5_000);
    const yielded: string[] = [];
    holdSlowly(bytes, 'b', 60, yielded);
    holdSlowly(bytes, 'a', 40, yielded);
    watch(bytes.reserve(70, 'b'));
    await vi.advanceTimersByTimeAsync(4_000);
    expect(yielded).toEqual([]);
    const fresh = budget(10, 5_000);
    holdSlowly(fresh, 'b', 100, yielded);
    watch(fresh.reserve(10, 'a'));
    await vi.advanceTimersByTimeAsync(1_900);
    expect(yielded).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(yielded).toEqual(['b100']);
  });
});

test('a reservation is given back once, less what it gave back before', () => {
  const bytes = budget();
  const held = bytes.tryReserve(100)!;
  held.shrinkTo(30);
  held.shrinkTo(80); // never grows
  expect(bytes.usedBytes).toBe(30);
  held.release();
  held.release();
  expect(bytes.usedBytes).toBe(0);
});

test('a reservation that is kept for work is given back when the work has settled', async () => {
  const bytes = budget();
  const held = bytes.tryReserve(100)!;
  const work = Promise.withResolvers<void>();
  held.keepFor(work.promise);
  held.release();
  await settle();
  expect(bytes.usedBytes).toBe(100);
  work.reject(new Error('it failed'));
  await settle();
  expect(bytes.usedBytes).toBe(0);
});

test('never above the limit but for a single body, first in first out, and nothing is left in the end', async () => {
  const size = fc.integer({ min: 1, max: 150 });
  const index = fc.nat(30);
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('reserve' as const), size }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), index }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), index }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('shrink' as const), index, size }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 700 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const bytes = budget();
      const requests: { n: number; cancel: () => void; seen: ReturnType<typeof watch> }[] = [];
      const held: { reservation: ByteReservation; n: number }[] = [];
      const order: number[] = [];
      const check = async () => {
        await settle();
        for (const { n, seen } of requests) {
          if (!seen.got || order.includes(n)) continue;
          order.push(n);
          held.push({ reservation: seen.got, n });
        }
        if (held.length > 1) expect(bytes.usedBytes).toBeLessThanOrEqual(LIMIT);
        if (held.length === 0) expect([bytes.usedBytes, bytes.waiting]).toEqual([0, 0]);
      };
      for (const step of steps) {
        if (step.do === 'reserve') {
          const request = bytes.reserve(step.size);
          requests.push({ n: requests.length, cancel: request.cancel, seen: watch(request) });
        } else if (step.do === 'release') held.splice(step.index, 1)[0]?.reservation.release();
        else if (step.do === 'cancel') requests[step.index]?.cancel();
        else if (step.do === 'shrink') held[step.index]?.reservation.shrinkTo(step.size);
        else await vi.advanceTimersByTimeAsync(step.ms);
        await check();
      }
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      await vi.advanceTimersByTimeAsync(2 * TIMEOUT_MS);
      await check();
      while (held.length > 0) {
        for (const { reservation } of held.splice(0)) reservation.release(); // which those may get that still wait: the line has moved
        await check();
      }
      expect([bytes.usedBytes, bytes.waiting]).toEqual([0, 0]);
    }),
  );
});
