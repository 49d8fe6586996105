import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { EndpointId } from '../../core/ids.ts';

let rest: RestFixture;
let id: EndpointId;
let operator: Person;
/** The last full minute. */
const MINUTE = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 60_000);

beforeAll(async () => {
  rest = await startRestApp();
  operator = await rest.addPerson('admin');
  const body = { name: 'charted', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  await rest.database.pool.query(
    `insert into history (kind, subject, span, starts_at, completed, workers_idle, gpu_seconds, amount, waits)
     select k, s, 'minute', $1, 4, 2, 60, 0.25, array[54::bigint << 32 | 4]
     from (values ('ENDPOINT', $2), ('POOL', 'ADA_24'), ('INSTALLATION', '')) as v(k, s)`,
    [MINUTE, id],
  );
});
afterAll(() => rest.close());

const get = (query = '', key = rest.alice.key, of: string = id) =>
  rest.call('GET', `/v2/serverless/${of}/history${query}`, { key });
const getAll = (query = '', key = operator.key) =>
  rest.call('GET', `/v2/account/installation/history${query}`, { key });

test('the last hour is read per minute', async () => {
  const answer = await get();
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({
    range: '1h',
    stepSeconds: 60,
    points: [
      {
        at: MINUTE.toISOString(),
        jobs: { completed: 4, failed: 0 },
        workers: { idle: 2 },
        gpuSeconds: 60,
        cost: 0.25,
        waitMs: { p50: expect.closeTo(10.6, 0) },
        executionMs: null,
      },
    ],
  });
});

test.each([
  ['24h', '', 60],
  ['24h', '&step=300', 300],
  ['24h', '&step=3600', 3600],
  ['7d', '', 3600],
  ['30d', '&step=3600', 3600],
])('the last %s are read in steps%s of %i s', async (range, step, seconds) => {
  const history = (await get(`?range=${range}${step}`)).json();
  expect(history.stepSeconds).toBe(seconds);
  if (seconds < 3600) expect(history.points).toHaveLength(1);
});

test('minutes of a week are a 400 that says how long they are kept', async () => {
  const answer = await get('?range=7d&step=60');
  expect(answer.statusCode).toBe(400);
  expect(answer.json().detail).toBe('step: minutes are kept for 24h; with range 7d, step must be 3600');
});

test.each(['range=2h', 'step=61', 'step=x'])('a value out of range is a 422: %s', async (query) => {
  expect((await get(`?${query}`)).statusCode).toBe(422);
});

test("it needs read access; another user's endpoint and a missing one are the same 404", async () => {
  expect((await rest.call('GET', `/v2/serverless/${id}/history`, {})).statusCode).toBe(401);
  expect((await get('', await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
  const foreign = await get('', rest.bob.key);
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe((await get('', rest.bob.key, 'nosuchendpoint')).body);
});

test('the operator alone reads that of the installation and of a pool', async () => {
  expect((await getAll()).json().points).toMatchObject([{ jobs: { completed: 4 } }]);
  expect((await getAll('?pool=ADA_24&range=24h')).json().points).toMatchObject([{ gpuSeconds: 60 }]);
  expect((await getAll('?pool=none')).json().points).toEqual([]);
  expect((await getAll('?range=30d&step=60')).statusCode).toBe(400);
  expect((await getAll('?range=x')).statusCode).toBe(422);
  expect((await rest.call('GET', '/v2/account/installation/history', {})).statusCode).toBe(401);
  expect((await getAll('', rest.alice.key)).statusCode).toBe(403);
});
