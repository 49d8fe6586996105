import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WorkerId } from '../../core/ids.ts';
import { Upstream } from '../proxy/upstream.ts';
import type { Affinity, Attempt, BalancedWorker } from './backend.ts';
import { RequestBalancer } from './request-balancer.ts';

let changes: boolean[];
let connected: Upstream[];
let balancer: RequestBalancer;

beforeEach(() => {
  vi.useFakeTimers();
  changes = [];
  connected = [];
  balancer = new RequestBalancer({
    maxHeld: () => 3,
    clock: { now: () => Date.now() },
    monotonic: { now: () => Date.now() },
    onChange: (isUrgent) => changes.push(isUrgent),
    connect: (_id, at) => {
      const upstream = new Upstream({ address: at.host, port: at.port });
      connected.push(upstream);
      return upstream;
    },
  });
});
afterEach(() => {
  balancer.close(() => new Error('closed') as never);
  vi.useRealTimers();
});

function worker(id: string, change: Partial<BalancedWorker> = {}): BalancedWorker {
  return {
    id: id as WorkerId,
    version: 1,
    state: 'ready',
    concurrency: 10,
    at: { host: '127.0.0.1', port: 80 },
    ...change,
  };
}

function attempt(affinity?: Affinity): Attempt {
  return { affinity, unreachable: undefined, retryAt: 0 };
}

const client = () => ({ isOver: false, onGone: null as (() => void) | null });
const idsOf = (count: number, one = attempt) => Array.from({ length: count }, () => balancer.acquire(one())?.id);

test('the worker with the fewest requests in flight gets the next one', () => {
  balancer.update([worker('a'), worker('b'), worker('c')]);
  const ids = idsOf(9);
  for (const id of ['a', 'b', 'c']) expect(ids.filter((other) => other === id)).toHaveLength(3);
  balancer.release(balancer.acquire(attempt())!);
  const [first] = ids;
  const held = balancer.inUse();
  expect(held[first as WorkerId]).toBe(3);
});

test('among equals one is chosen at random, so that processes do not all choose the same', () => {
  balancer.update([worker('a'), worker('b'), worker('c')]);
  const chosen = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const backend = balancer.acquire(attempt())!;
    chosen.add(backend.id);
    balancer.release(backend);
  }
  expect([...chosen].sort()).toEqual(['a', 'b', 'c']);
});

test('among equals a worker of the newest release is chosen', () => {
  balancer.update([worker('old'), worker('new', { version: 2 })]);
  for (let i = 0; i < 20; i++) {
    const backend = balancer.acquire(attempt())!;
    expect(backend.id).toBe('new');
    balancer.release(backend);
  }
});

test('only a ready worker gets requests', () => {
  balancer.update([
    worker('starting', { state: 'waiting', at: null }),
    worker('draining', { state: 'draining' }),
    worker('frozen', { state: 'frozen' }),
  ]);
  expect(balancer.acquire(attempt())).toBeUndefined();
  balancer.update([worker('starting')]);
  expect(balancer.acquire(attempt())?.id).toBe('starting');
});

test('a worker gets at most its concurrency; further requests wait until one ends', async () => {
  balancer.update([worker('a', { concurrency: 2 })]);
  const [first] = [balancer.acquire(attempt())!, balancer.acquire(attempt())!];
  expect(balancer.acquire(attempt())).toBeUndefined();
  const waiting = balancer.hold(attempt(), client(), 1000);
  balancer.release(first);
  expect((await waiting)?.id).toBe('a');
  expect(balancer.inFlight).toBe(2);
  expect(balancer.held).toBe(0);
});

test('held requests are served first in, first out when a worker becomes ready', async () => {
  const order: number[] = [];
  const waits = [1, 2, 3].map((n) => balancer.hold(attempt(), client(), 1000).then(() => order.push(n)));
  expect([balancer.held, balancer.oldestHeldAt]).toEqual([3, Date.now()]);
  balancer.update([worker('a')]);
  await Promise.all(waits);
  expect(order).toEqual([1, 2, 3]);
  expect([balancer.held, balancer.inFlight, balancer.oldestHeldAt]).toEqual([0, 3, null]);
});

test('beyond the limit of held requests the next is refused with 429 and Retry-After', async () => {
  for (let i = 0; i < 3; i++) void balancer.hold(attempt(), client(), 1000);
  await expect(balancer.hold(attempt(), client(), 1000)).rejects.toMatchObject({
    kind: 'tooManyRequests',
    retryAfterSeconds: 1,
  });
});

test('a held request times out', async () => {
  const waiting = balancer.hold(attempt(), client(), 1000);
  await vi.advanceTimersByTimeAsync(999);
  expect(balancer.held).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await waiting).toBeUndefined();
  expect(balancer.held).toBe(0);
});

test('a client that disconnects is no longer held', async () => {
  const gone = client();
  const waiting = balancer.hold(attempt(), gone, 1000);
  gone.onGone!();
  expect(await waiting).toBeUndefined();
  expect(balancer.held).toBe(0);
  expect(await balancer.hold(attempt(), { ...client(), isOver: true }, 1000)).toBeUndefined();
});

test('a request that could not reach a worker goes to another, and later ones avoid that worker for a moment', () => {
  balancer.update([worker('a'), worker('b')]);
  const retried = attempt();
  const bad = balancer.acquire(retried)!;
  expect(balancer.markUnreachable(bad, retried)).toBe(true);
  balancer.release(bad);
  const good = balancer.acquire(retried)!;
  expect(good.id).not.toBe(bad.id);
  expect(idsOf(5)).toEqual(Array(5).fill(good.id));
  vi.advanceTimersByTime(30);
  expect(idsOf(5)).toContain(bad.id);
});

test('one failed connect does not quarantine the only worker: new requests go to it, the failed one tries again soon', async () => {
  balancer.update([worker('only')]);
  const retried = attempt();
  const backend = balancer.acquire(retried)!;
  balancer.markUnreachable(backend, retried);
  balancer.release(backend);
  expect(balancer.acquire(retried)).toBeUndefined();
  const waiting = balancer.hold(retried, client(), 60_000);
  expect(balancer.acquire(attempt())?.id).toBe('only');
  await vi.advanceTimersByTimeAsync(25);
  expect((await waiting)?.id).toBe('only');
});

test('the backoff grows while a worker is unreachable, and is reset by its first response', () => {
  balancer.update([worker('only')]);
  const pauses = Array.from({ length: 8 }, () => {
    const one = attempt();
    const backend = balancer.acquire(one)!;
    balancer.markUnreachable(backend, one);
    balancer.release(backend);
    const pause = one.retryAt - Date.now();
    vi.advanceTimersByTime(pause);
    return pause;
  });
  expect(pauses).toEqual([25, 50, 100, 200, 400, 800, 1000, 1000]);
  const one = attempt();
  const backend = balancer.acquire(one)!;
  balancer.markReachable(backend);
  balancer.markUnreachable(backend, one);
  expect(one.retryAt - Date.now()).toBe(25);
});

test('concurrent connect failures count once', () => {
  balancer.update([worker('only')]);
  const all = Array.from({ length: 5 }, () => attempt());
  const backends = all.map((one) => balancer.acquire(one)!);
  const results = backends.map((backend, i) => balancer.markUnreachable(backend, all[i]!));
  expect(results).toEqual([true, false, false, false, false]);
  expect(all.every(({ retryAt }) => retryAt === Date.now() + 25)).toBe(true);
});

test('a held request that failed to connect does not block those behind it', async () => {
  balancer.update([worker('a')]);
  const retried = attempt();
  const backend = balancer.acquire(retried)!;
  balancer.markUnreachable(backend, retried);
  const refused = balancer.hold(retried, client(), 60_000);
  balancer.update([worker('a', { state: 'draining' })]);
  const behind = balancer.hold(attempt(), client(), 60_000);
  balancer.update([worker('a', { state: 'draining' }), worker('b')]);
  expect((await refused)?.id).toBe('b');
  expect((await behind)?.id).toBe('b');
});

test('soft affinity prefers a worker and uses another when that one is busy or gone', () => {
  balancer.update([worker('a', { concurrency: 1 }), worker('b')]);
  const soft = () => attempt({ workerId: 'a', kind: 'soft' });
  expect(idsOf(3, soft)).toEqual(['a', 'b', 'b']);
  balancer.update([worker('b')]);
  expect(idsOf(1, soft)).toEqual(['b']);
});

test('strict affinity waits for its worker even while others are free', async () => {
  balancer.update([worker('a', { concurrency: 1 }), worker('b')]);
  const strict = attempt({ workerId: 'a', kind: 'strict' });
  const busy = balancer.acquire(strict)!;
  expect(balancer.acquire(strict)).toBeUndefined();
  const waiting = balancer.hold(strict, client(), 60_000);
  expect(balancer.acquire(attempt())?.id).toBe('b');
  balancer.release(busy);
  expect((await waiting)?.id).toBe('a');
});

test('strict affinity to a worker that is gone, draining or frozen is refused; strict-resume waits for a frozen one', async () => {
  const strict = attempt({ workerId: 'a', kind: 'strict' });
  const resume = attempt({ workerId: 'a', kind: 'strict-resume' });
  for (const state of ['draining', 'frozen'] as const) {
    balancer.update([worker('a', { state })]);
    expect(() => balancer.acquire(strict)).toThrow('affinity_worker_gone');
  }
  expect(balancer.acquire(resume)).toBeUndefined();
  const waiting = balancer.hold(resume, client(), 60_000);
  balancer.update([]);
  await expect(waiting).rejects.toThrow('affinity_worker_gone');
});

test('a draining worker is in use until its last request has ended, and its connections are closed then', () => {
  balancer.update([worker('a')]);
  const backend = balancer.acquire(attempt())!;
  balancer.update([]);
  expect(balancer.inUse()).toEqual({ a: 1 });
  expect(connected[0]!.isClosed).toBe(false);
  changes.length = 0;
  balancer.release(backend);
  expect(changes).toEqual([true]); // urgent: control may wait to stop it
  expect(balancer.inUse()).toEqual({});
  expect(connected[0]!.isClosed).toBe(true);
});

test('a ready worker is in use even while it has no requests', () => {
  balancer.update([worker('a'), worker('b', { state: 'waiting' })]);
  expect(balancer.inUse()).toEqual({ a: 0 });
  expect(changes).toContain(true);
});

test('every outcome releases its count', async () => {
  balancer.update([worker('a', { concurrency: 2 })]);
  const retried = attempt();
  const refused = balancer.acquire(retried)!;
  balancer.markUnreachable(refused, retried);
  balancer.release(refused);
  const one = balancer.acquire(attempt())!;
  const two = balancer.acquire(attempt())!;
  const gone = client();
  const aborted = balancer.hold(attempt(), gone, 1000);
  const late = balancer.hold(attempt(), client(), 1000);
  gone.onGone!();
  await vi.advanceTimersByTimeAsync(1000);
  expect([await aborted, await late]).toEqual([undefined, undefined]);
  balancer.update([]);
  balancer.release(one);
  balancer.release(two);
  expect([balancer.held, balancer.inFlight, balancer.inUse()]).toEqual([0, 0, {}]);
});
