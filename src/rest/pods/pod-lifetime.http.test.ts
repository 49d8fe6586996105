import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
let path: string;

beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 2 ** 35 }) } });
  id = (await create()).json().id;
  path = `/v2/pods/${id}/lifetime`;
});
afterAll(() => rest.close());

const body = { name: 'a', image: 'i', cpu: { id: 'cpu3c', vcpuCount: 2 } };
const create = (query = '') => rest.call('POST', `/v2/pods${query}`, { key: rest.alice.key, body });
const get = (key = rest.alice.key, at = path) => rest.call('GET', at, { key });
const put = (content: unknown, key = rest.alice.key, at = path) => rest.call('PUT', at, { key, body: content });
const NEVER = { stopAfter: null, terminateAfter: null };
const LATER = '2099-01-31T12:00:00.000Z';

test('a pod has no times unless it is created with them, and its record is the same either way', async () => {
  expect((await get()).json()).toEqual(NEVER);
  const made = await create(`?stopAfter=2099-01-31T13:00:00%2B01:00&terminateAfter=${LATER}`);
  expect(made.statusCode, made.body).toBe(201);
  expect(made.json()).not.toHaveProperty('stopAfter');
  const lifetime = await get(rest.alice.key, `/v2/pods/${made.json().id}/lifetime`);
  expect(lifetime.json()).toEqual({ stopAfter: LATER, terminateAfter: LATER });
});

test('both times are replaced, keep the container, and survive other updates', async () => {
  const revision = async () =>
    (await rest.database.pool.query('select revision from pods where id = $1', [id])).rows[0].revision;
  const before = await revision();
  expect((await put({ stopAfter: LATER, terminateAfter: null })).json()).toEqual({ ...NEVER, stopAfter: LATER });
  await rest.call('PATCH', `/v2/pods/${id}`, { key: rest.alice.key, body: { name: 'b' } });
  await rest.call('PUT', `/v2/pods/${id}/access`, { key: rest.alice.key, body: { private: true } });
  expect((await get()).json()).toEqual({ ...NEVER, stopAfter: LATER });
  expect((await put({ stopAfter: null, terminateAfter: LATER })).json()).toEqual({ ...NEVER, terminateAfter: LATER });
  expect((await put(NEVER)).json()).toEqual(NEVER);
  expect(await revision()).toBe(before);
});

test.each(['2001-01-31T12:00:00Z', '0000-01-01T00:00:00Z'])(
  'the time %s is over, which the error says',
  async (time) => {
    const response = await put({ ...NEVER, stopAfter: time });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toMatch(/^stopAfter: \S+ is over; it is \S+Z/);
    const made = await create(`?terminateAfter=${time}`);
    expect(made.json().detail).toMatch(/^terminateAfter: \S+ is over/);
  },
);

test.each([
  [{}],
  [{ stopAfter: null }],
  [{ ...NEVER, stopAfter: 'tomorrow' }],
  [{ ...NEVER, stopAfter: '2099-01-31' }],
  [{ ...NEVER, stopAfter: 5 }],
  [{ ...NEVER, stopAt: LATER }],
])('%o is refused', async (content) => {
  expect((await put(content)).statusCode).toBe(422);
});

test('reading needs read access to the pod, setting needs write access', async () => {
  const reader = await rest.keyFor(rest.alice, `pods/${id}:read`);
  const other = await rest.keyFor(rest.alice, 'serverless:write');
  expect((await get(reader)).statusCode).toBe(200);
  expect((await put(NEVER, reader)).statusCode).toBe(403);
  expect((await get(other)).statusCode).toBe(403);
  expect((await rest.call('GET', path)).statusCode).toBe(401);
  expect((await rest.call('PUT', path, { body: NEVER })).statusCode).toBe(401);
});

test('another user’s pod is as missing as one that is not there', async () => {
  const missing = '/v2/pods/nosuchpod00000/lifetime';
  const theirs = [await get(rest.bob.key), await put({ ...NEVER, stopAfter: LATER }, rest.bob.key)];
  const none = [await get(rest.bob.key, missing), await put({ ...NEVER, stopAfter: LATER }, rest.bob.key, missing)];
  expect(theirs.map((one) => [one.statusCode, one.body])).toEqual(none.map((one) => [one.statusCode, one.body]));
  expect(theirs.map(({ statusCode }) => statusCode)).toEqual([404, 404]);
  expect((await get()).json()).toEqual(NEVER);
});
