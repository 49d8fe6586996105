import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const create = async (name: string, key = rest.alice.key): Promise<string> => {
  const body = { name, image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  return (await rest.call('POST', '/v2/serverless', { key, body })).json().id;
};

test('an empty list is an object with an empty array', async () => {
  const response = await rest.call('GET', '/v2/serverless', { key: rest.bob.key });
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual({ endpoints: [] });
});

test('a list has the user’s whole records only, oldest first', async () => {
  const ids = [await create('one'), await create('two')];
  await create('of bob', rest.bob.key);
  const { endpoints } = (await rest.call('GET', '/v2/serverless', { key: rest.alice.key })).json();
  expect(endpoints.map((endpoint: { id: string }) => endpoint.id)).toEqual(ids);
  const one = (await rest.call('GET', `/v2/serverless/${ids[0]}`, { key: rest.alice.key })).json();
  expect(endpoints[0]).toEqual(one);
});

test('a list of hundreds, read in pages, has each endpoint once and in order, even with equal times', async () => {
  const carol = await rest.addPerson('carol');
  await create('first', carol.key);
  await rest.database.pool.query(
    `insert into endpoints
     select (jsonb_populate_record(e, jsonb_build_object(
       'id', 'copy' || lpad(n::text, 4, '0'), 'created_at', e.created_at + n / 100 * interval '3 microseconds'))).*
     from endpoints e, generate_series(1, 749) n where e.user_id = $1`,
    [carol.userId],
  );
  const response = await rest.call('GET', '/v2/serverless', { key: carol.key });
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  const ids = response.json().endpoints.map((endpoint: { id: string }) => endpoint.id);
  const stored = await rest.database.pool.query('select id from endpoints where user_id = $1 order by created_at, id', [
    carol.userId,
  ]);
  expect(ids).toHaveLength(750);
  expect(ids).toEqual(stored.rows.map(({ id }) => id));
  for (const limit of [1, 250, 251, 750, 751]) {
    const { endpoints } = (await rest.call('GET', `/v2/serverless?limit=${limit}`, { key: carol.key })).json();
    expect(endpoints.map((endpoint: { id: string }) => endpoint.id)).toEqual(ids.slice(0, limit));
  }
  for (const limit of ['0', '1001', 'all', '1.5']) {
    const refused = await rest.call('GET', `/v2/serverless?limit=${limit}`, { key: carol.key });
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain('limit');
  }
});

test('an unknown query parameter is ignored', async () => {
  expect((await rest.call('GET', '/v2/serverless?surprise=1', { key: rest.alice.key })).statusCode).toBe(200);
});

test('a list needs read access to all endpoints, a single read to that one only', async () => {
  const id = await create('three');
  const one = await rest.keyFor(rest.alice, `serverless/${id}:read`);
  expect((await rest.call('GET', '/v2/serverless', { key: one })).statusCode).toBe(403);
  expect((await rest.call('GET', `/v2/serverless/${id}`, { key: one })).statusCode).toBe(200);
  expect((await rest.call('GET', '/v2/serverless/another', { key: one })).statusCode).toBe(403);
  const invoke = await rest.keyFor(rest.alice, 'invoke');
  expect((await rest.call('GET', `/v2/serverless/${id}`, { key: invoke })).statusCode).toBe(403);
  const reader = await rest.keyFor(rest.alice, 'read-only');
  expect((await rest.call('GET', '/v2/serverless', { key: reader })).statusCode).toBe(200);
});

test("another user's endpoint, a missing one and an invalid id are the same 404", async () => {
  const id = await create('four');
  const bodies = await Promise.all(
    [id, 'nosuchendpoint', 'a%00b', '%F0%9F%A6%84', "x'--", 'a'.repeat(200)].map((name) =>
      rest.call('GET', `/v2/serverless/${name}`, { key: rest.bob.key }),
    ),
  );
  for (const response of bodies) {
    expect(response.statusCode).toBe(404);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.body).toBe('{"title":"Not Found","status":404,"detail":"Endpoint not found"}');
  }
});

test('reads without a key are 401', async () => {
  for (const url of ['/v2/serverless', '/v2/serverless/x', '/v2/serverless/x/workers', '/v2/serverless/x/releases']) {
    expect((await rest.call('GET', url)).statusCode).toBe(401);
  }
});
