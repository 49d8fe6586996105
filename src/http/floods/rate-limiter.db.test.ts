import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { UserId } from '../../core/ids.ts';
import { createPool, type Pool } from '../../db/pool.ts';
import { createUser } from '../../domain/access/users.ts';
import { writeUserRateLimit } from '../../domain/rate-limits/user-rate-limit.ts';
import { type RateLimitVerdict, SharedRateLimiter } from './rate-limiter.ts';

const NOON = Date.parse('2026-03-04T12:00:00.000Z');
const QUOTAS = { minute: 5, hour: 8, day: 11 };

let database: TestDatabase;
let pools: Pool[];
let userId: UserId;
let nowMs: number;
let limiter: SharedRateLimiter;
let queries: ReturnType<typeof vi.spyOn>;
let users = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  pools = [0, 1].map(() =>
    createPool({ databaseUrl: database.url, applicationName: 'podyard test', maxConnections: 1 }),
  );
});
beforeEach(async () => {
  users += 1;
  userId = (await createUser(database.pool, { name: `user ${users}`, email: null })).id;
  nowMs = NOON;
  limiter = new SharedRateLimiter({ pool: pools[0]!, quotas: QUOTAS, clock: { now: () => nowMs } });
  queries = vi.spyOn(pools[0]!, 'query');
});
afterEach(() => queries.mockRestore());
afterAll(async () => {
  for (const pool of pools) await pool.end();
  await database.drop();
});

const isAllowed = (verdict: RateLimitVerdict) => verdict.exceeded === null;
const check = async () => isAllowed(await limiter.check(userId));

/** A structured-field list of strings with integer parameters (RFC 9651), strictly. */
function parseList(field: string): [string, Record<string, number>][] {
  return field.split(', ').map((member) => {
    const [, name, parameters] = /^"([a-z]+)"((?:;[a-z]=\d+)+)$/.exec(member)!;
    const pairs = parameters!
      .slice(1)
      .split(';')
      .map((pair) => pair.split('='));
    return [name!, Object.fromEntries(pairs.map(([key, value]) => [key, Number(value)]))];
  });
}

test('the request after the last allowed one is refused, and the first of the next window is not', async () => {
  for (let i = 0; i < 5; i++) expect(await check()).toBe(true);
  expect(await check()).toBe(false);
  nowMs = NOON + 59_999;
  expect(await check()).toBe(false);
  nowMs = NOON + 60_000;
  expect(await check()).toBe(true);
});

test('the headers name every window with what remains and when it ends, and the policy', async () => {
  nowMs = NOON + 48_000;
  const { headers } = await limiter.check(userId);
  expect(headers.RateLimit).toBe('"minute";r=4;t=12, "hour";r=7;t=3552, "day";r=10;t=43152');
  expect(headers['RateLimit-Policy']).toBe('"minute";q=5;w=60, "hour";q=8;w=3600, "day";q=11;w=86400');
  expect(parseList(headers.RateLimit!).map(([name]) => name)).toEqual(['minute', 'hour', 'day']);
  expect(parseList(headers['RateLimit-Policy']!)[1]).toEqual(['hour', { q: 8, w: 3600 }]);
});

test('what remains counts down request by request, also for concurrent requests', async () => {
  const verdicts = await Promise.all(Array.from({ length: 7 }, () => limiter.check(userId)));
  expect(verdicts.map(({ headers }) => parseList(headers.RateLimit!)[0]![1].r)).toEqual([4, 3, 2, 1, 0, 0, 0]);
  expect(verdicts.map(isAllowed)).toEqual([true, true, true, true, true, false, false]);
  expect(queries).toHaveBeenCalledTimes(1);
});

test('a refusal names the exhausted window that ends last, and the seconds until then, rounded up', async () => {
  const use = async (times: number) => {
    for (let i = 0; i < times; i++) expect(await check()).toBe(true);
    return (await limiter.check(userId)).exceeded;
  };
  nowMs = NOON + 29_500;
  expect(await use(5)).toEqual({ window: 'minute', retryAfterSeconds: 31 });
  nowMs = NOON + 60_000;
  expect(await use(3)).toEqual({ window: 'hour', retryAfterSeconds: 59 * 60 });
  nowMs = NOON + 3_600_000;
  expect(await use(3)).toEqual({ window: 'day', retryAfterSeconds: 11 * 3600 });
  nowMs = NOON + 12 * 3_600_000 - 1;
  expect((await limiter.check(userId)).exceeded).toEqual({ window: 'day', retryAfterSeconds: 1 });
  nowMs += 1;
  expect(await check()).toBe(true);
});

test('with both the minute and the hour exhausted, the hour is named', async () => {
  for (let i = 0; i < 4; i++) await check();
  nowMs += 60_000;
  for (let i = 0; i < 4; i++) await check();
  await writeUserRateLimit(database.pool, userId, { minute: 4 });
  expect((await limiter.check(userId)).exceeded?.window).toBe('hour');
});

test('a request after Retry-After is allowed', async () => {
  for (let i = 0; i < 5; i++) await check();
  nowMs = NOON + 12_345;
  const { exceeded } = await limiter.check(userId);
  nowMs += exceeded!.retryAfterSeconds * 1000;
  expect(await check()).toBe(true);
});

test('two processes with concurrent requests allow exactly the quota, in every window', async () => {
  const options = { quotas: { minute: 37, hour: 100_000, day: 100_000 }, clock: { now: () => nowMs } };
  const processes = pools.map((pool) => new SharedRateLimiter({ pool, ...options }));
  for (let round = 0; round < 5; round++) {
    nowMs += 60_000;
    const verdicts = await Promise.all(
      Array.from({ length: 120 }, async (_, i) => {
        if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, i % 7));
        return processes[i % 2]!.check(userId);
      }),
    );
    expect(verdicts.filter(isAllowed)).toHaveLength(37);
  }
});

test('many users in two processes neither deadlock nor share counts', async () => {
  const ids = await Promise.all(
    Array.from(
      { length: 20 },
      async (_, i) => (await createUser(database.pool, { name: `many ${i}`, email: null })).id,
    ),
  );
  const processes = pools.map((pool) => new SharedRateLimiter({ pool, quotas: QUOTAS, clock: { now: () => nowMs } }));
  const allowed = new Map<UserId, number>();
  await Promise.all(
    Array.from({ length: 400 }, async (_, i) => {
      const id = ids[(i * 7) % ids.length]!;
      if (isAllowed(await processes[i % 2]!.check(id))) allowed.set(id, (allowed.get(id) ?? 0) + 1);
    }),
  );
  expect([...allowed.values()]).toEqual(ids.map(() => 5));
});

test('a count outlives its process', async () => {
  for (let i = 0; i < 4; i++) await check();
  limiter = new SharedRateLimiter({ pool: pools[1]!, quotas: QUOTAS, clock: { now: () => nowMs } });
  expect([await check(), await check()]).toEqual([true, false]);
});

test('refusals cost the database one statement a second', async () => {
  for (let i = 0; i < 6; i++) await check();
  queries.mockClear();
  for (let i = 0; i < 1000; i++) {
    nowMs += 1;
    expect(await check()).toBe(false);
  }
  expect(queries.mock.calls.length).toBeLessThanOrEqual(1);
});

test('a raised quota is noticed within a second, in the middle of a refusal', async () => {
  for (let i = 0; i < 6; i++) await check();
  await writeUserRateLimit(database.pool, userId, { minute: 6 });
  nowMs += 1000;
  expect([await check(), await check()]).toEqual([true, false]);
});

test('an exempt user gets no headers, and is cached for a second', async () => {
  await writeUserRateLimit(database.pool, userId, 'exempt');
  for (let i = 0; i < 20; i++) expect(await limiter.check(userId)).toEqual({ headers: {}, exceeded: null });
  expect(queries).toHaveBeenCalledTimes(1);
  await writeUserRateLimit(database.pool, userId, {});
  nowMs += 1000;
  expect((await limiter.check(userId)).headers).toHaveProperty('RateLimit');
});

test('without an injected clock the database’s time applies', async () => {
  const real = new SharedRateLimiter({ pool: pools[0]!, quotas: QUOTAS });
  const [, , day] = parseList((await real.check(userId)).headers.RateLimit!);
  const untilMidnight = 86_400 - (Math.floor(Date.now() / 1000) % 86_400);
  expect(Math.abs(day![1].t! - untilMidnight)).toBeLessThanOrEqual(2);
});
