import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp();
  id = await create('failing');
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, is_lost, exited_at, phase_reason)
     values ('w', $1, $2, 1, '', '{}', 'EXITED', true, now(), $3)`,
    [id, rest.alice.userId, 'it exited with code 1:\nValueError: no model'],
  );
});
afterAll(() => rest.close());

async function create(name: string, more: object = {}): Promise<string> {
  const body = { name, image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] }, ...more };
  return (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
}
const get = (path: string, key: string | undefined = rest.alice.key) =>
  rest.call('GET', path, key === undefined ? {} : { key });

test('the state of an endpoint has a time and a reason with the last lines of output', async () => {
  const answer = await get(`/v2/serverless/${id}/state`);
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    id,
    state: 'FAILING',
    since: expect.stringMatching(/Z$/),
    reason: 'the last start failed: it exited with code 1:\nValueError: no model',
    warnings: [],
  });
});

test('a list has the states only when asked, beside the endpoints, whose bodies stay as they are', async () => {
  const paused = await create('paused', { workers: { max: 0 } });
  const plain = (await get('/v2/serverless')).json();
  const asked = (await get('/v2/serverless?include=STATE')).json();
  expect(plain).not.toHaveProperty('states');
  expect(asked.endpoints).toEqual(plain.endpoints);
  expect(asked.states).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id, state: 'FAILING' }),
      { id: paused, state: 'PAUSED', since: null, reason: 'workers.max is 0, so nothing runs', warnings: [] },
    ]),
  );
  expect((await get('/v2/serverless?include=STATE', rest.bob.key)).json()).toEqual({ endpoints: [], states: [] });
  expect((await get('/v2/serverless?include=nothing')).json()).toEqual(plain);
});

test("it needs read access; another user's endpoint and a missing one are the same 404", async () => {
  const path = `/v2/serverless/${id}/state`;
  expect((await rest.call('GET', path, {})).statusCode).toBe(401);
  expect((await get(path, await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
  expect((await get(path, await rest.keyFor(rest.alice, `serverless/${id}:read`))).statusCode).toBe(200);
  const foreign = await get(path, rest.bob.key);
  const missing = await get('/v2/serverless/nosuchendpoint/state', rest.bob.key);
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(missing.body);
});
