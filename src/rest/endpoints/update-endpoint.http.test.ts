import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const CREATED = {
  name: 'before',
  image: 'podyard/echo:1',
  args: 'serve',
  env: { KEEP: '1', DROP: '2', SECRET: 'hunter2' },
  ports: ['80/http'],
  gpu: { pools: ['ADA_24'], count: 4 },
  workers: { min: 1, max: 5 },
  scaling: { type: 'REQUEST_COUNT', value: 2, idleTimeout: 60 },
  dataCenterIds: ['EU-RO-1'],
};

beforeEach(async () => {
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body: CREATED })).json().id;
});

const update = (body: unknown, key = rest.alice.key) => rest.call('PATCH', `/v2/serverless/${id}`, { key, body });
const read = async () => (await rest.call('GET', `/v2/serverless/${id}`, { key: rest.alice.key })).json();
const releases = async () => (await rest.call('GET', `/v2/serverless/${id}/releases`, { key: rest.alice.key })).json();

describe('a field that is', () => {
  test('absent is unchanged: {} changes nothing, creates no release and returns the whole record', async () => {
    const before = await read();
    const response = await update({});
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual(before);
    expect((await releases()).endpointVersion).toBe(1);
  });

  test('present changes, and only that', async () => {
    const before = await read();
    const response = await update({ name: 'after', timeout: 1 });
    expect(response.json()).toEqual({ ...before, name: 'after', timeout: 1 });
    expect(await read()).toEqual(response.json());
  });

  test('null, where null is allowed, is a value', async () => {
    await rest.database.pool.query(`update endpoints set registry_id = 'r1' where id = $1`, [id]);
    expect((await update({ name: 'x' })).json().registry).toBe('r1');
    expect((await update({ registry: null })).json().registry).toBe(null);
  });

  test.each(['name', 'gpu', 'workers', 'scaling', 'env', 'ports', 'image', 'dataCenterIds', 'timeout', 'flashboot'])(
    'null is a 422 for %s, which cannot be null',
    async (field) => {
      const response = await update({ [field]: null });
      expect(response.statusCode).toBe(422);
      expect(response.json().errors[0]).toMatch(new RegExp(`^/${field}: must be `));
    },
  );

  test('empty clears: [], {} and ""', async () => {
    const response = await update({ ports: [], env: {}, args: '', dataCenterIds: [], networkVolumes: [] });
    expect(response.json()).toMatchObject({ ports: [], env: {}, args: '', dataCenterIds: [], networkVolumes: [] });
  });
});

test('members of workers and scaling are merged one by one', async () => {
  expect((await update({ workers: { max: 9 } })).json().workers).toEqual({ min: 1, max: 9 });
  expect((await update({ workers: {} })).json().workers).toEqual({ min: 1, max: 9 });
  const { scaling } = (await update({ scaling: { idleTimeout: 0 } })).json();
  expect(scaling).toEqual({ type: 'REQUEST_COUNT', value: 2, idleTimeout: 0 });
});

test('gpu is replaced as a whole: an absent count becomes 1', async () => {
  expect((await update({ gpu: { pools: ['AMPERE_80'] } })).json().gpu).toEqual({ pools: ['AMPERE_80'], count: 1 });
});

test('env is replaced as a whole', async () => {
  expect((await update({ env: { KEEP: '1' } })).json().env).toEqual({ KEEP: '1' });
});

describe('releases', () => {
  test.each([
    ['image', { image: 'podyard/echo:2' }, { field: 'image', old: 'podyard/echo:1', new: 'podyard/echo:2' }],
    ['args', { args: '' }, { field: 'args', old: 'serve', new: '' }],
    ['disk', { disk: 21 }, { field: 'disk', old: 20, new: 21 }],
    ['ports', { ports: ['81/tcp'] }, { field: 'ports', old: ['80/http'], new: ['81/tcp'] }],
    ['gpu.count', { gpu: { pools: ['ADA_24'] } }, { field: 'gpu.count', old: 4, new: 1 }],
    [
      'gpu.pools',
      { gpu: { pools: ['AMPERE_24'], count: 4 } },
      { field: 'gpu.pools', old: ['ADA_24'], new: ['AMPERE_24'] },
    ],
  ])('a change of %s makes the next version, with the change as its diff', async (_, body, change) => {
    await update(body);
    const list = await releases();
    expect(list.endpointVersion).toBe(2);
    expect(list.releases.map((release: { version: number }) => release.version)).toEqual([2, 1]);
    expect(list.releases[0]).toMatchObject({ diff: [change], createdByUserId: rest.alice.userId });
  });

  test('the diff names changed environment variables, but not their values', async () => {
    await update({ env: { KEEP: '1', SECRET: 'hunter3', NEW: 'hunter4' } });
    const [{ diff }] = (await releases()).releases;
    expect(diff).toEqual([{ field: 'env', old: { DROP: '***', SECRET: '***' }, new: { NEW: '***', SECRET: '***' } }]);
  });

  test.each([
    ['name', { name: 'n' }],
    ['workers', { workers: { max: 7 } }],
    ['scaling', { scaling: { value: 9 } }],
    ['timeout', { timeout: 5 }],
    ['flashboot', { flashboot: 'FLASHBOOT' }],
    ['dataCenterIds', { dataCenterIds: [] }],
    ['the values that are there already', { image: CREATED.image, env: CREATED.env, gpu: CREATED.gpu }],
  ])('a change of %s makes none', async (_, body) => {
    expect((await update(body)).statusCode).toBe(200);
    expect((await releases()).endpointVersion).toBe(1);
  });

  test('concurrent updates each create their own version', async () => {
    const images = Array.from({ length: 10 }, (_, i) => `podyard/echo:${i + 10}`);
    const answers = await Promise.all(images.map((image) => update({ image })));
    expect(answers.every((answer) => answer.statusCode === 200)).toBe(true);
    const list = await releases();
    expect(list.endpointVersion).toBe(11);
    expect(list.releases).toHaveLength(11);
  });
});

test('an update notifies the scaler once it is visible', async () => {
  const seen: Promise<string>[] = [];
  const unsubscribe = rest.bus.subscribe('demand', () => seen.push(read().then((endpoint) => endpoint.name)));
  await update({ name: 'told' });
  unsubscribe();
  expect(await Promise.all(seen)).toEqual(['told']);
});

test.each([
  ['workers.min above the max that stays', { workers: { min: 6 } }, /^workers.min \(6\) .* workers.max \(5\)$/],
  ['workers.max below the min that stays', { workers: { max: 0 } }, /^workers.min \(1\) .* workers.max \(0\)$/],
  ['an unknown pool', { gpu: { pools: ['NOPE'] } }, /^gpu.pools: .*'NOPE'$/],
  ['an unknown data center', { dataCenterIds: ['MOON-1'] }, /^dataCenterIds: .*'MOON-1'$/],
  ['an unknown volume', { networkVolumes: ['v1'] }, /^networkVolumes: .*'v1'$/],
  ['an unknown registry', { registry: 'r1' }, /^registry: .*'r1'$/],
  ['a port listed twice', { ports: ['1/tcp', '1/tcp'] }, /^ports: '1\/tcp'/],
])('%s is a 400 that names the fields and changes nothing', async (_, body, detail) => {
  const before = await read();
  const response = await update({ name: 'not stored', ...body });
  expect(response.statusCode).toBe(400);
  expect(response.json().detail).toMatch(detail);
  expect(await read()).toEqual(before);
});

test('rules are not applied to fields that an update leaves unchanged', async () => {
  await rest.database.pool.query(`update endpoints set data_center_ids = '{GONE-1}' where id = $1`, [id]);
  expect((await update({ name: 'still fine' })).statusCode).toBe(200);
});

test('updating a CPU endpoint is a 400', async () => {
  const cpu = { id: 'cpu3c', vcpuCount: 2, memory: 4 };
  await rest.database.pool.query('update endpoints set cpu = $2, gpu_pools = null, gpu_count = null where id = $1', [
    id,
    cpu,
  ]);
  expect(await read()).toMatchObject({ gpu: null, cpu });
  const response = await update({ name: 'x' });
  expect(response.statusCode).toBe(400);
  expect(response.json().detail).toContain('CPU');
  expect((await update({})).statusCode).toBe(200);
});

test.each(['type', 'id', 'templateId', 'requestUrls', 'createdAt', 'cpu', '__proto', 'constructor'])(
  'property %s is not part of an update: 422',
  async (property) => {
    const response = await update({ [property]: 'x' });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([`$: additional property '${property}' is not allowed`]);
  },
);

test('an update needs write access to this endpoint', async () => {
  for (const scope of ['read-only', 'serverless:read', 'invoke', `serverless/${id}:read`, 'serverless/other:write']) {
    const response = await update({ name: 'x' }, await rest.keyFor(rest.alice, scope));
    expect([scope, response.statusCode]).toEqual([scope, 403]);
    expect(response.json()).toEqual({ title: 'Forbidden', status: 403, detail: 'access denied' });
  }
  const key = await rest.keyFor(rest.alice, `serverless/${id}:write`);
  expect((await update({ name: 'x' }, key)).statusCode).toBe(200);
});

test("another user's endpoint and a missing one are the same 404", async () => {
  const foreign = await update({ name: 'x' }, rest.bob.key);
  const missing = await rest.call('PATCH', '/v2/serverless/nosuchendpoint', { key: rest.bob.key, body: { name: 'x' } });
  expect(foreign.statusCode).toBe(404);
  expect(foreign.rawPayload.equals(missing.rawPayload)).toBe(true);
  expect((await read()).name).toBe('before');
});

test('failures are reported in the order key, permission, body, record, rule', async () => {
  const url = '/v2/serverless/nosuchendpoint';
  const reader = await rest.keyFor(rest.alice, 'read-only');
  const patch = (key: string, body: unknown) => rest.call('PATCH', url, { key, body });
  expect((await patch('wrong', '{')).statusCode).toBe(401);
  expect((await patch(reader, '{')).statusCode).toBe(403);
  expect((await patch(rest.alice.key, '{')).statusCode).toBe(400);
  expect((await patch(rest.alice.key, { name: '' })).statusCode).toBe(422);
  expect((await patch(rest.alice.key, { workers: { min: 2, max: 1 } })).statusCode).toBe(404);
  expect((await update({ workers: { min: 2, max: 1 } })).statusCode).toBe(400);
});
