import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EndpointId, JobId, WorkerId } from '../core/ids.ts';
import type { TakenJob } from '../domain/jobs/job.ts';
import { Matchmaker } from './matchmaker.ts';

const ENDPOINT = 'endpoint' as EndpointId;
const HOLD_MS = 30_000;

/** The table: queued jobs and leases. Polls and commits end when the test says so, in any order. */
class FakeQueue {
  readonly queued: string[] = [];
  readonly leases = new Map<string, string>();
  readonly pending: (() => void)[] = [];
  readonly matchmaker = new Matchmaker({
    takeFromQueue: (_endpointId, workerId, slots) => this.#later(() => this.#take(workerId, slots)),
    returnToQueue: (_endpointId, _workerId, jobs) => this.#returnToQueue(jobs),
  });
  fails = false;

  submit(id: string): void {
    const reservation = this.matchmaker.reserve(ENDPOINT);
    const commit = () => {
      if (reservation) this.leases.set(id, reservation.workerId);
      else this.queued.push(id);
    };
    void this.#later(commit).then(
      () => (reservation ? reservation.deliver(job(id)) : this.matchmaker.wake(ENDPOINT, 1)),
      () => reservation?.cancel(),
    );
  }

  #take(workerId: WorkerId, slots: number): TakenJob[] {
    const ids = this.queued.splice(0, slots);
    for (const id of ids) this.leases.set(id, workerId);
    return ids.map(job);
  }

  #returnToQueue(jobs: readonly TakenJob[]): void {
    void this.#later(() => {
      for (const { id } of jobs) {
        this.leases.delete(id);
        this.queued.unshift(id);
      }
    }, true).then(() => this.matchmaker.wake(ENDPOINT, jobs.length));
  }

  #later<T>(work: () => T, isCertain = false): Promise<T> {
    return new Promise((resolve, reject) => {
      this.pending.push(() => {
        if (this.fails && !isCertain) reject(new Error('the database is down'));
        else resolve(work());
      });
    });
  }

  /** Ends the n-th pending statement, and runs everything that follows from it. */
  async settle(n: number): Promise<void> {
    this.pending.splice(n % this.pending.length, 1)[0]?.();
    await vi.advanceTimersByTimeAsync(0);
  }

  async settleAll(): Promise<void> {
    while (this.pending.length > 0) await this.settle(0);
  }
}

function job(id: string): TakenJob {
  return { id: id as JobId, input: 'null', extras: null };
}

/** A worker with one held take at a time, which records the jobs it got. */
class FakeTake {
  readonly workerId: WorkerId;
  readonly got: string[] = [];
  isHeld = true;
  isConnected = true;
  readonly #take: { abandon: () => void };

  constructor(queue: FakeQueue, workerId: string, options: { version?: number; slots?: number; holdMs?: number } = {}) {
    this.workerId = workerId as WorkerId;
    const { version = 1, slots = 1, holdMs = HOLD_MS } = options;
    const worker = { endpointId: ENDPOINT, workerId: this.workerId, version, slots, holdMs };
    this.#take = queue.matchmaker.take(worker, (jobs) => {
      if (!this.isConnected || !this.isHeld) return false;
      this.isHeld = false;
      this.got.push(...jobs.map(({ id }) => id));
      return true;
    });
  }

  leave(): void {
    this.isConnected = false;
    this.#take.abandon();
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A take that found the queue empty and waits. */
async function waiting(queue: FakeQueue, ...args: [string, ConstructorParameters<typeof FakeTake>[2]?]) {
  const take = new FakeTake(queue, ...args);
  await queue.settleAll();
  expect(take.isHeld).toBe(true);
  return take;
}

describe('a job', () => {
  test('submitted while a worker waits is committed as leased by it and delivered to it', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w');
    queue.submit('a');
    expect(take.got).toEqual([]);
    await queue.settle(0);
    expect(take.got).toEqual(['a']);
    expect(queue.leases.get('a')).toBe('w');
  });

  test('goes to the newest release first, and within it to the worker that waited least', async () => {
    const queue = new FakeQueue();
    const takes = [
      await waiting(queue, 'old', { version: 1 }),
      await waiting(queue, 'new, first', { version: 2 }),
      await waiting(queue, 'new, last', { version: 2 }),
      await waiting(queue, 'oldest', { version: 0 }),
    ];
    const order = [];
    for (const id of ['a', 'b', 'c', 'd']) {
      queue.submit(id);
      await queue.settleAll();
      order.push(takes.find((take) => take.got.includes(id))!.workerId);
    }
    expect(order).toEqual(['new, last', 'new, first', 'old', 'oldest']);
  });

  test('never overtakes older queued jobs', async () => {
    const queue = new FakeQueue();
    queue.queued.push('older');
    const take = new FakeTake(queue, 'w');
    queue.submit('younger');
    await queue.settleAll();
    expect(take.got).toEqual(['older']);
    expect(queue.queued).toEqual(['younger']);
  });

  test('queued by another process reaches a waiting worker with the hint', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w');
    queue.queued.push('a');
    queue.matchmaker.wake(ENDPOINT, 1);
    await queue.settleAll();
    expect(take.got).toEqual(['a']);
  });

  test('is one of a backlog for a moment after a poll found some, until one finds none', async () => {
    const queue = new FakeQueue();
    const isOne = () => queue.matchmaker.hintPauseMs(ENDPOINT) > 0;
    expect(isOne()).toBe(false);
    queue.queued.push('a', 'b');
    new FakeTake(queue, 'w1');
    await queue.settleAll();
    expect(isOne()).toBe(true);
    await vi.advanceTimersByTimeAsync(10);
    expect(isOne()).toBe(false);
    new FakeTake(queue, 'w2');
    await queue.settleAll();
    expect(isOne()).toBe(true);
    await waiting(queue, 'w3');
    expect(isOne()).toBe(false);
  });

  test('need not be told as soon in a backlog that lasts, until a poll finds none', async () => {
    const queue = new FakeQueue();
    const poll = async (worker: string) => {
      new FakeTake(queue, worker);
      await queue.settleAll();
      return queue.matchmaker.hintPauseMs(ENDPOINT);
    };
    queue.queued.push('a', 'b', 'c', 'd');
    expect(await poll('w1')).toBe(25);
    await vi.advanceTimersByTimeAsync(999);
    expect(await poll('w2')).toBe(25);
    await vi.advanceTimersByTimeAsync(1);
    expect(await poll('w3')).toBe(100);
    expect(await poll('w4')).toBe(100);
    await waiting(queue, 'w5');
    queue.queued.push('e');
    queue.matchmaker.wake(ENDPOINT, 1);
    await queue.settleAll();
    expect(queue.matchmaker.hintPauseMs(ENDPOINT)).toBe(25);
  });

  test('of many that share a single hint reaches its worker too: each poll that finds one starts more polls', async () => {
    const queue = new FakeQueue();
    const takes = [];
    for (let i = 0; i < 12; i++) takes.push(await waiting(queue, `w${i}`));
    queue.queued.push(...takes.map((_, i) => `job${i}`));
    queue.matchmaker.wake(ENDPOINT, 1);
    expect(queue.pending).toHaveLength(1);
    await queue.settleAll();
    expect(takes.map(({ got }) => got.length)).toEqual(takes.map(() => 1));
  });

  test('whose hint was lost reaches a waiting worker with wakeAll', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w');
    queue.queued.push('a');
    queue.matchmaker.wakeAll();
    await queue.settleAll();
    expect(take.got).toEqual(['a']);
  });

  test('queued during a poll makes it poll again', async () => {
    const queue = new FakeQueue();
    const take = new FakeTake(queue, 'w');
    queue.matchmaker.wake(ENDPOINT, 1);
    await queue.settle(0); // found an empty queue
    queue.queued.push('a');
    await queue.settle(0);
    expect(take.got).toEqual(['a']);
  });

  test('returns to the queue when its worker disconnects at the last moment', async () => {
    const queue = new FakeQueue();
    const gone = await waiting(queue, 'gone');
    gone.isConnected = false;
    queue.submit('a');
    await queue.settleAll();
    expect(queue.queued).toEqual(['a']);
    expect(queue.leases.size).toBe(0);
    expect(new FakeTake(queue, 'next')).toBeDefined();
  });
});

describe('a worker', () => {
  test('takes several jobs at once, at most as many as it has slots', async () => {
    const queue = new FakeQueue();
    queue.queued.push('a', 'b', 'c');
    const take = new FakeTake(queue, 'w', { slots: 2 });
    await queue.settleAll();
    expect(take.got).toEqual(['a', 'b']);
  });

  test('gets nothing when its hold ends', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w', { holdMs: 500 });
    await vi.advanceTimersByTimeAsync(499);
    expect(take.isHeld).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(take).toMatchObject({ isHeld: false, got: [] });
  });

  test('has the same hold, however many polls find nothing', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w', { holdMs: 20_000 });
    for (let second = 0; second < 20; second++) {
      expect(take.isHeld).toBe(true);
      queue.matchmaker.wakeAll();
      await queue.settleAll();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(take).toMatchObject({ isHeld: false, got: [] });
  });

  test('whose hold ends while a job is committed for it gets the job', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w', { holdMs: 500 });
    queue.submit('a');
    await vi.advanceTimersByTimeAsync(600);
    expect(take.isHeld).toBe(true);
    await queue.settleAll();
    expect(take.got).toEqual(['a']);
  });

  test('dismissed while it waits gets nothing, at once', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w');
    queue.matchmaker.dismiss(ENDPOINT, take.workerId);
    expect(take).toMatchObject({ isHeld: false, got: [] });
    queue.submit('a');
    await queue.settleAll();
    expect(queue.queued).toEqual(['a']);
  });

  test('dismissed during a poll gets nothing: the jobs found are requeued, and it stops waiting', async () => {
    const queue = new FakeQueue();
    const found = new FakeTake(queue, 'found');
    const empty = new FakeTake(queue, 'empty');
    queue.queued.push('a');
    queue.matchmaker.dismiss(ENDPOINT, found.workerId);
    queue.matchmaker.dismiss(ENDPOINT, empty.workerId);
    await queue.settleAll();
    expect(found).toMatchObject({ isHeld: false, got: [] });
    expect(empty).toMatchObject({ isHeld: false, got: [] });
    expect(queue.queued).toEqual(['a']);
  });

  test('dismissed while a job is committed for it does not get the job', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w');
    queue.submit('a');
    queue.matchmaker.dismiss(ENDPOINT, take.workerId);
    await queue.settleAll();
    expect(take).toMatchObject({ isHeld: false, got: [] });
    expect(queue.queued).toEqual(['a']);
  });

  test('that disconnects during a poll does not wait', async () => {
    const queue = new FakeQueue();
    const take = new FakeTake(queue, 'w');
    take.leave();
    await queue.settleAll();
    expect(queue.matchmaker.reserve(ENDPOINT)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('waits briefly when the database is down, and asks again', async () => {
    const queue = new FakeQueue();
    const take = await waiting(queue, 'w');
    queue.fails = true;
    queue.submit('a');
    await queue.settleAll();
    expect(take.isHeld).toBe(true);
    await vi.advanceTimersByTimeAsync(1000);
    expect(take).toMatchObject({ isHeld: false, got: [] });
  });
});

test('remembers nothing of a deleted endpoint, whatever is reported of it and its workers afterwards', async () => {
  const queue = new FakeQueue();
  const take = await waiting(queue, 'a');
  queue.matchmaker.forget(ENDPOINT);
  expect(queue.matchmaker.size).toBe(1); // a worker waits
  queue.matchmaker.dismiss(ENDPOINT, 'a' as WorkerId);
  expect([take.got, queue.matchmaker.size]).toEqual([[], 0]);
  queue.matchmaker.wake(ENDPOINT, 3);
  queue.matchmaker.dismiss(ENDPOINT, 'a' as WorkerId);
  expect(queue.matchmaker.size).toBe(0);
});

test('dismissAll answers every held take, and a job on its way still arrives', async () => {
  const queue = new FakeQueue();
  const held = await waiting(queue, 'held');
  const given = await waiting(queue, 'given');
  queue.submit('a'); // for the one that waited least
  const looking = new FakeTake(queue, 'looking');
  queue.matchmaker.dismissAll();
  expect(held.isHeld).toBe(false);
  await queue.settleAll();
  expect(given.got).toEqual(['a']);
  expect(looking).toMatchObject({ isHeld: false, got: [] });
  expect(vi.getTimerCount()).toBe(0);
});

type Step =
  | { kind: 'submit' | 'take' | 'settle' | 'dismiss' | 'leave' | 'queueElsewhere' | 'outage'; n: number }
  | { kind: 'pass'; n: number };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'submit',
    'submit',
    'take',
    'take',
    'settle',
    'settle',
    'settle',
    'dismiss',
    'leave',
    'queueElsewhere',
    'outage',
    'pass',
  ),
  n: fc.nat(40),
});

test('in any interleaving no job is lost, delivered twice, or delivered after a dismissal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      vi.clearAllTimers();
      const queue = new FakeQueue();
      const submitted: string[] = [];
      let count = 0;
      const takes: FakeTake[] = [];
      const dismissed = new Set<FakeTake>();
      const held = () => takes.filter((take) => take.isHeld && take.isConnected);
      const pick = (n: number) => held()[n % Math.max(1, held().length)];
      for (const { kind, n } of steps) {
        if (kind === 'submit') {
          submitted.push(`job ${++count}`);
          queue.submit(submitted.at(-1)!);
        } else if (kind === 'queueElsewhere') {
          submitted.push(`job ${++count}`);
          queue.queued.push(submitted.at(-1)!);
          queue.matchmaker.wake(ENDPOINT, 1);
        } else if (kind === 'take') {
          takes.push(
            new FakeTake(queue, `worker ${takes.length}`, {
              version: n % 3,
              slots: 1 + (n % 2),
              holdMs: 100 * (n + 1),
            }),
          );
        } else if (kind === 'settle') {
          if (queue.pending.length > 0) await queue.settle(n);
        } else if (kind === 'dismiss') {
          const take = pick(n);
          if (take) {
            dismissed.add(take);
            queue.matchmaker.dismiss(ENDPOINT, take.workerId);
          }
        } else if (kind === 'leave') {
          pick(n)?.leave();
        } else if (kind === 'outage') {
          queue.fails = true;
          await queue.settleAll();
          queue.fails = false;
          // a failed submit was reported to its client
          const known = new Set([...queue.queued, ...queue.leases.keys()]);
          submitted.splice(0, submitted.length, ...submitted.filter((id) => known.has(id)));
        } else await vi.advanceTimersByTimeAsync(n * 10);
      }
      await queue.settleAll();
      queue.matchmaker.wakeAll(); // after an outage only wakeAll helps
      await queue.settleAll();
      const got = takes.flatMap((take) => take.got);
      expect(new Set(got).size).toBe(got.length);
      for (const take of dismissed) expect(take.got).toEqual([]);
      for (const take of takes) for (const id of take.got) expect(queue.leases.get(id)).toBe(take.workerId);
      expect([...got, ...queue.queued].sort()).toEqual([...submitted].sort());
      // and no job is queued while a worker waits
      if (queue.queued.length > 0) expect(held()).toEqual([]);
      queue.matchmaker.dismissAll();
      expect(held()).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 1000 },
  );
});
