import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const BODY = { name: 'app-dev', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
const create = async (query: string) =>
  rest.call('POST', `/v2/serverless${query}`, { key: rest.alice.key, body: BODY });
const renew = (id: string, body: unknown, key = rest.alice.key) =>
  rest.call('PUT', `/v2/serverless/${id}/lease`, { key, body });

test('a lease is set with the endpoint, and renewed', async () => {
  const created = await create('?leaseSeconds=60');
  expect(created.statusCode).toBe(201);
  const answer = await renew(created.json().id, { seconds: 600 });
  expect(answer.statusCode).toBe(200);
  const inMs = Date.parse(answer.json().endsAt) - Date.now();
  expect(inMs).toBeGreaterThan(500_000);
  expect(inMs).toBeLessThan(660_000);
});

test('an endpoint that stays has no lease to renew', async () => {
  const answer = await renew((await create('')).json().id, { seconds: 60 });
  expect([answer.statusCode, answer.json().detail]).toEqual([
    409,
    'The endpoint has no lease: it stays until it is deleted',
  ]);
});

test("another user's endpoint is answered as one that is missing", async () => {
  const { id } = (await create('?leaseSeconds=60')).json();
  const [foreign, missing] = [
    await renew(id, { seconds: 60 }, rest.bob.key),
    await renew('missing', { seconds: 60 }, rest.bob.key),
  ];
  expect([foreign.statusCode, missing.statusCode]).toEqual([404, 404]);
  expect(foreign.json().detail).toBe(missing.json().detail);
  expect((await renew(id, { seconds: 60 }, 'pyk_wrong')).statusCode).toBe(401);
});

test.each([{}, { seconds: 4 }, { seconds: 3601 }, { seconds: '60' }, { seconds: 60, more: 1 }])(
  '%j is no lease',
  async (body) => {
    const { id } = (await create('?leaseSeconds=60')).json();
    expect((await renew(id, body)).statusCode).toBe(422);
  },
);

test.each(['0', '3601', 'soon', '-5'])('leaseSeconds=%s is refused, and nothing is created', async (seconds) => {
  const count = async () => (await rest.call('GET', '/v2/serverless', { key: rest.alice.key })).json().endpoints.length;
  const before = await count();
  expect((await create(`?leaseSeconds=${seconds}`)).statusCode).toBe(422);
  expect(await count()).toBe(before);
});
