import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { resolveResponses } from '../../test/resolve-responses.ts';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import type { UserId } from '../core/ids.ts';
import type { Db } from '../db/pool.ts';
import { writeUserRateLimit } from '../domain/rate-limits/user-rate-limit.ts';
import { SharedRateLimiter } from '../http/floods/rate-limiter.ts';

const NOON = Date.parse('2026-03-04T12:00:00.000Z');
let rest: RestFixture;
let pool: Db;
let nowMs = NOON;
let minutes = 0;
beforeAll(async () => {
  const late: Db = { query: ((...args: Parameters<Db['query']>) => pool.query(...args)) as Db['query'] };
  const rateLimiter = new SharedRateLimiter({
    pool: late,
    quotas: { minute: 8, hour: 1000, day: 5000 },
    clock: { now: () => nowMs },
  });
  rest = await startRestApp({ rateLimiter });
  pool = rest.database.pool;
});
beforeEach(() => {
  minutes += 1;
  nowMs = NOON + minutes * 60_000;
});
afterAll(() => rest.close());

test('every response to a valid key has RateLimit and RateLimit-Policy', async () => {
  const { key } = rest.alice;
  const reader = await rest.keyFor(rest.alice, 'read-only');
  const body = { name: 'x' };
  const url = '/v2/serverless/nosuchendpoint';
  const text = { 'content-type': 'text/plain' };
  const answers = [
    await rest.call('GET', '/v2/serverless', { key }),
    await rest.call('DELETE', url, { key: reader }),
    await rest.call('PATCH', url, { key, body }),
    await rest.call('PATCH', url, { key, body: { nonsense: 1 } }),
    await rest.call('PATCH', url, { key, body: 'x', headers: text }),
    await rest.call('PATCH', url, { key, body: JSON.stringify({ name: 'n'.repeat(1_100_000) }) }),
    await rest.call('PATCH', url, { key, body: '{' }),
    await rest.call('GET', '/v2/serverless', { key: reader }),
    await rest.call('GET', '/v2/serverless', { key }),
  ];
  expect(answers.map((answer) => answer.statusCode)).toEqual([200, 403, 404, 422, 415, 413, 400, 200, 429]);
  answers.forEach(({ headers }, i) => {
    expect(headers.ratelimit).toMatch(
      new RegExp(`^"minute";r=${Math.max(0, 7 - i)};t=60, "hour";r=\\d+;t=\\d+, "day"`),
    );
    expect(headers['ratelimit-policy']).toBe('"minute";q=8;w=60, "hour";q=1000;w=3600, "day";q=5000;w=86400');
  });
  expect(answers.at(-1)!.headers['retry-after']).toBe('60');
});

test('requests with a valid key count on unknown paths and methods too', async () => {
  const { key } = rest.alice;
  for (const [method, url, status] of [
    ['GET', '/v2/nowhere', 404],
    ['PUT', '/v2/serverless', 405],
    ['GET', '/v2/serverless/%zz', 400],
    ['GET', '/2026-08/v2/nowhere', 404],
    ['PUT', '/2026-08/v2/pods', 405],
    ['GET', '/2025-01/v2/pods', 404],
  ] as const) {
    const known = await rest.call(method, url, { key });
    expect([known.statusCode, known.headers.ratelimit]).toEqual([status, expect.stringContaining('"minute";r=')]);
    const unknown = await rest.call(method, url, { key: 'pyk_unknown' });
    expect([unknown.statusCode, unknown.headers.ratelimit]).toEqual([status, undefined]);
    expect((await rest.call(method, url)).statusCode).toBe(status);
  }
});

test('401 comes before 429, and 429 before 403, 404, 405, 413, 415 and 422', async () => {
  const key = await rest.keyFor(rest.alice, 'invoke');
  for (let i = 0; i < 8; i++) await rest.call('GET', '/v2/serverless', { key });
  for (const [method, url, body] of [
    ['GET', '/v2/serverless', undefined],
    ['PATCH', '/v2/serverless/nosuchendpoint', '{'],
    ['PATCH', '/v2/serverless/nosuchendpoint', 'x'.repeat(200_000)],
    ['PUT', '/v2/serverless', undefined],
    ['GET', '/v2/nowhere', undefined],
  ] as const) {
    const response = await rest.call(method, url, { key, body });
    expect(response.statusCode).toBe(429);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.json()).toEqual({
      title: 'Too Many Requests',
      status: 429,
      detail: 'rate limit exceeded for the minute window',
    });
  }
  expect((await rest.call('GET', '/v2/serverless', { key: 'pyk_unknown' })).statusCode).toBe(401);
});

test('all keys of a user share one count', async () => {
  const keys = [rest.alice.key, await rest.keyFor(rest.alice, 'all'), await rest.keyFor(rest.alice, 'read-only')];
  const get = (key: string) => rest.call('GET', '/v2/serverless', { key });
  const answers = await Promise.all(Array.from({ length: 9 }, (_, i) => get(keys[i % 3]!)));
  expect(answers.filter((answer) => answer.statusCode === 429)).toHaveLength(1);
  expect((await get(rest.bob.key)).headers.ratelimit).toMatch(/^"minute";r=7;/);
});

test('public operations do not count; they and exempt users get no headers', async () => {
  for (const url of ['/healthz', '/v2/openapi.json']) {
    expect((await rest.call('GET', url, { key: rest.alice.key })).headers).not.toHaveProperty('ratelimit');
  }
  await writeUserRateLimit(pool, rest.bob.userId as UserId, 'exempt');
  const { headers } = await rest.call('GET', '/v2/serverless', { key: rest.bob.key });
  expect(headers).not.toHaveProperty('ratelimit');
  expect(headers).not.toHaveProperty('ratelimit-policy');
});

test('the description declares the headers of every response', async () => {
  const { paths, components } = resolveResponses((await rest.call('GET', '/v2/openapi.json')).json());
  const { responses } = paths['/v2/serverless/{id}'].patch;
  const headersOf = (status: number) => Object.keys(responses[status].headers);
  for (const status of [200, 404, 422]) {
    expect(headersOf(status)).toEqual(['x-request-id', 'RateLimit', 'RateLimit-Policy']);
  }
  expect(headersOf(401)).toEqual(['x-request-id', 'WWW-Authenticate']);
  expect(headersOf(429)).toEqual(['x-request-id', 'RateLimit', 'RateLimit-Policy', 'Retry-After']);
  expect(Object.keys(components.headers)).toEqual(expect.arrayContaining(headersOf(429)));
  expect(Object.keys(paths['/healthz'].get.responses[200].headers)).toEqual(['x-request-id']);
});
