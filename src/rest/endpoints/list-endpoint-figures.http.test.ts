import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let busy: string;
let paused: string;
let quiet: string;
const MINUTE_MS = 60_000;
/** The last full minute. */
const LAST = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - MINUTE_MS;

beforeAll(async () => {
  rest = await startRestApp();
  busy = await create('busy');
  paused = await create('paused', { workers: { max: 0 } });
  quiet = await create('quiet');
  await history(LAST, { completed: 4, requests_5xx: 2, latencies: [[54, 6]] });
  await history(LAST - 7 * MINUTE_MS, { completed: 3, failed: 1, cancelled: 9, latencies: [[94, 14]] });
  await history(LAST - 61 * MINUTE_MS, { completed: 100 }); // over an hour ago
});
afterAll(() => rest.close());

async function create(name: string, more: object = {}): Promise<string> {
  const body = { name, image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] }, ...more };
  return (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
}

async function history(
  at: number,
  { latencies = [], ...counts }: { latencies?: [number, number][] } & Record<string, unknown>,
  id = busy,
  span = 'minute',
): Promise<void> {
  const names = Object.keys(counts);
  await rest.database.pool.query(
    `insert into history (kind, subject, span, starts_at, latencies${names.map((name) => `, ${name}`).join('')})
     values ('ENDPOINT', $1, $2, $3, $4${names.map((_, i) => `, $${i + 5}`).join('')})`,
    [id, span, new Date(at), latencies.map(([bucket, count]) => bucket * 2 ** 32 + count), ...Object.values(counts)],
  );
}

const get = (query = '', key: string | undefined = rest.alice.key) =>
  rest.call('GET', `/v2/serverless/figures${query}`, { key });

test('endpoints have their state, the sums of the last hour, and its course in steps of two minutes', async () => {
  const answer = await get(`?ids=${busy},${quiet}`);
  expect(answer.statusCode).toBe(200);
  const { figures } = answer.json();
  expect(figures).toHaveLength(2);
  const of = (id: string) => figures.find((one: { id: string }) => one.id === id);
  const { series, ...sums } = of(busy);
  expect(sums).toEqual({
    id: busy,
    state: 'SCALED_TO_ZERO',
    warnings: [],
    since: null,
    reason: null,
    workers: 0,
    waiting: 0,
    running: 0,
    requests: 10,
    failed: 3,
    requestsPerSecond: 10 / 3600,
    latencyP95Ms: expect.closeTo(2 ** (94 / 4) / 1000, -3),
    costToday: 0,
  });
  expect(series.requests).toHaveLength(30);
  expect(series.requests.filter((count: number) => count > 0)).toEqual([4, 6]);
  expect(series.latencyP95Ms[series.requests.indexOf(6)]).toBeCloseTo(2 ** (54 / 4) / 1000, -1);
  expect(series.latencyP95Ms[0]).toBeNull();
  expect(of(quiet)).toMatchObject({ requests: 0, latencyP95Ms: null });
  expect(of(quiet)).not.toHaveProperty('series');
});

test('the percentile of the sums is that of the history', async () => {
  await history(LAST, { latencies: [[40, 7], [41, 2], [60, 1], [80, 1]] }, quiet); // biome-ignore format: pairs
  const { figures } = (await get(`?ids=${quiet}`)).json();
  const { points } = (await rest.call('GET', `/v2/serverless/${quiet}/history`, { key: rest.alice.key })).json();
  expect(figures[0].latencyP95Ms).toBe(points[0].latencyMs.p95);
  await rest.database.pool.query('delete from history where subject = $1', [quiet]);
});

test('without ids, all are listed but those at rest, without their course', async () => {
  const { figures } = (await get()).json();
  expect(figures.map(({ id }: { id: string }) => id).sort()).toEqual([busy, paused].sort());
  for (const one of figures) expect(one).not.toHaveProperty('series');
  expect(figures.find(({ id }: { id: string }) => id === paused)).toMatchObject({ state: 'PAUSED' });
});

test('the cost of today is that of folded hours and of the minutes after them, since midnight', async () => {
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const id = await create('costly');
  await rest.database.pool.query('update history_progress set hours_until = $1', [new Date(midnight)]);
  await history(midnight - 3_600_000, { amount: 100 }, id, 'hour');
  await history(midnight - MINUTE_MS, { amount: 100 }, id);
  await history(midnight, { amount: 0.5 }, id);
  const cost = async () => (await get(`?ids=${id}`)).json().figures[0].costToday;
  expect(await cost()).toBe(0.5);
  await history(midnight, { amount: 0.75 }, id, 'hour');
  await rest.database.pool.query('update history_progress set hours_until = $1', [new Date(midnight + 3_600_000)]);
  await history(midnight + 3_600_000, { amount: 0.25 }, id);
  expect(await cost()).toBe(1);
});

test("another user's endpoints and missing ones are left out", async () => {
  expect((await get(`?ids=${busy},nosuchendpoint`, rest.bob.key)).json()).toEqual({ figures: [] });
  expect((await get('', rest.bob.key)).json()).toEqual({ figures: [] });
  expect((await get('?ids=')).json()).toEqual({ figures: [] });
});

test('more than 100 ids are a 400 that says how many', async () => {
  const answer = await get(`?ids=${Array.from({ length: 101 }, (_, i) => `id${i}`).join()}`);
  expect(answer.statusCode).toBe(400);
  expect(answer.json().detail).toBe('ids: 101 identifiers; at most 100 are allowed');
});

test('it needs a key that reads all endpoints', async () => {
  expect((await rest.call('GET', '/v2/serverless/figures', {})).statusCode).toBe(401);
  expect((await get('', await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
  expect((await get('', await rest.keyFor(rest.alice, `serverless/${busy}:read`))).statusCode).toBe(403);
});
