import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());
beforeEach(async () => {
  const body = { name: 'doomed', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});

const remove = (key: string) => rest.call('DELETE', `/v2/serverless/${id}`, { key });

test('a delete returns 204 without a body, and the endpoint is gone', async () => {
  const response = await remove(rest.alice.key);
  expect(response.statusCode).toBe(204);
  expect(response.body).toBe('');
  expect(response.headers['content-type']).toBeUndefined();
  expect(response.headers['x-request-id']).toBeTruthy();
  expect((await remove(rest.alice.key)).statusCode).toBe(404);
  const list = await rest.call('GET', `/v2/serverless/${id}/releases`, { key: rest.alice.key });
  expect(list.statusCode).toBe(404);
});

test('a delete marks every live worker STOP and keeps the rows, so that containers are removed', async () => {
  const { pool } = rest.database;
  await pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec) values
       ($1 || 'a', $1, $2, 1, 'demand', 'RUNNING', '{}'), ($1 || 'b', $1, $2, 1, 'demand', 'EXITED', '{}')`,
    [id, rest.alice.userId],
  );
  await remove(rest.alice.key);
  const { rows } = await pool.query('select wanted, wanted_reason from workers where endpoint_id = $1 order by id', [
    id,
  ]);
  expect(rows).toEqual([
    { wanted: 'STOP', wanted_reason: 'the endpoint was deleted' },
    { wanted: 'RUN', wanted_reason: 'demand' },
  ]);
});

test('a delete leaves no queued or running job', async () => {
  const { pool } = rest.database;
  await pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl, worker_id)
     values ($1 || '-q', $1, 'IN_QUEUE', false, false, '{}', now() + interval '1 day', false, null),
            ($1 || '-p', $1, 'IN_PROGRESS', false, false, '{}', now() + interval '1 day', false, 'w')`,
    [id],
  );
  expect((await remove(rest.alice.key)).statusCode).toBe(204);
  expect((await pool.query('select from jobs where endpoint_id = $1', [id])).rowCount).toBe(0);
});

test('a delete notifies the scaler', async () => {
  const hints: string[] = [];
  const unsubscribe = rest.bus.subscribe('endpoint', (endpointId) => hints.push(endpointId));
  await remove(rest.alice.key);
  unsubscribe();
  expect(hints).toEqual([id]);
});

test('a delete with an empty JSON body works: some clients always send the header', async () => {
  const headers = { 'content-type': 'application/json' };
  const response = await rest.call('DELETE', `/v2/serverless/${id}`, { key: rest.alice.key, headers });
  expect(response.statusCode).toBe(204);
});

test('a delete needs write access', async () => {
  for (const scope of ['read-only', 'serverless:read', 'invoke']) {
    expect((await remove(await rest.keyFor(rest.alice, scope))).statusCode).toBe(403);
  }
  expect((await rest.call('DELETE', `/v2/serverless/${id}`)).statusCode).toBe(401);
  expect((await remove(await rest.keyFor(rest.alice, `serverless/${id}:write`))).statusCode).toBe(204);
});

test("another user's endpoint and a missing one are the same 404, and nothing is deleted", async () => {
  const foreign = await remove(rest.bob.key);
  const missing = await rest.call('DELETE', '/v2/serverless/nosuchendpoint', { key: rest.bob.key });
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(missing.body);
  expect((await rest.call('GET', `/v2/serverless/${id}`, { key: rest.alice.key })).statusCode).toBe(200);
});
