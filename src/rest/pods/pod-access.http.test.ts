import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
let path: string;

beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 2 ** 35 }) } });
  id = await create();
  path = `/v2/pods/${id}/access`;
});
afterAll(() => rest.close());

async function create(query = ''): Promise<string> {
  const body = { name: 'a', image: 'i', cpu: { id: 'cpu3c', vcpuCount: 2 }, ports: ['80/http'] };
  const response = await rest.call('POST', `/v2/pods${query}`, { key: rest.alice.key, body });
  expect(response.statusCode, response.body).toBe(201);
  return response.json().id;
}
const get = async (key = rest.alice.key, at = path) => rest.call('GET', at, { key });
const put = (body: unknown, key = rest.alice.key, at = path) => rest.call('PUT', at, { key, body });

test('a pod is public unless it is created private, and its record is the same either way', async () => {
  expect((await get()).json()).toEqual({ private: false });
  const secret = await create('?private=true');
  expect((await get(rest.alice.key, `/v2/pods/${secret}/access`)).json()).toEqual({ private: true });
  const record = await rest.call('GET', `/v2/pods/${secret}`, { key: rest.alice.key });
  expect(record.json()).not.toHaveProperty('private');
  const response = await rest.call('POST', '/v2/pods?private=perhaps', { key: rest.alice.key, body: { name: 'a' } });
  expect(response.statusCode).toBe(422);
});

test('the access is set, keeps the container, and survives other updates', async () => {
  const revision = async () =>
    (await rest.database.pool.query('select revision from pods where id = $1', [id])).rows[0].revision;
  const before = await revision();
  expect((await put({ private: true })).json()).toEqual({ private: true });
  expect((await put({ private: true })).json()).toEqual({ private: true });
  await rest.call('PATCH', `/v2/pods/${id}`, { key: rest.alice.key, body: { name: 'b' } });
  expect((await get()).json()).toEqual({ private: true });
  expect(await revision()).toBe(before);
  expect((await put({ private: false })).json()).toEqual({ private: false });
});

test.each([
  [{}, '$: '],
  [{ private: 'yes' }, '/private: must be boolean'],
  [{ private: null }, '/private: must be boolean'],
  [{ private: true, public: false }, "additional property 'public'"],
])('%o is refused', async (body, error) => {
  const response = await put(body);
  expect(response.statusCode).toBe(422);
  expect(response.json().errors.join()).toContain(error);
});

test('reading needs read access to the pod, setting needs write access', async () => {
  const reader = await rest.keyFor(rest.alice, `pods/${id}:read`);
  const other = await rest.keyFor(rest.alice, 'serverless:write');
  expect((await get(reader)).statusCode).toBe(200);
  expect((await put({ private: true }, reader)).statusCode).toBe(403);
  expect((await get(other)).statusCode).toBe(403);
  expect((await rest.call('GET', path)).statusCode).toBe(401);
  expect((await rest.call('PUT', path, { body: { private: true } })).statusCode).toBe(401);
});

test('another user’s pod is as missing as one that is not there', async () => {
  const missing = '/v2/pods/nosuchpod00000/access';
  const theirs = [await get(rest.bob.key), await put({ private: true }, rest.bob.key)];
  const none = [await get(rest.bob.key, missing), await put({ private: true }, rest.bob.key, missing)];
  expect(theirs.map(({ statusCode, body }) => [statusCode, body])).toEqual(
    none.map(({ statusCode, body }) => [statusCode, body]),
  );
  expect(theirs.map(({ statusCode }) => statusCode)).toEqual([404, 404]);
  expect((await get()).json()).toEqual({ private: false });
});
