import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const PATH = '/v2/network-volumes';
const MINIMAL = { name: 'models', size: 10, dataCenter: 'EU-RO-1' };
const create = (body: unknown, key = rest.alice.key) => rest.call('POST', PATH, { key, body });
const createId = async (more: object = {}, key = rest.alice.key): Promise<string> =>
  (await create({ ...MINIMAL, ...more }, key)).json().id;
const read = async (id: string) => (await rest.call('GET', `${PATH}/${id}`, { key: rest.alice.key })).json();
const update = (id: string, body: unknown, key = rest.alice.key) => rest.call('PATCH', `${PATH}/${id}`, { key, body });
const remove = (id: string, key = rest.alice.key) => rest.call('DELETE', `${PATH}/${id}`, { key });
const createEndpoint = (networkVolumes: string[], key = rest.alice.key) => {
  const body = { name: 'made', image: 'i', gpu: { pools: ['ADA_24'] }, networkVolumes };
  return rest.call('POST', '/v2/serverless', { key, body });
};

describe('a create', () => {
  test('returns 201 with the whole record; the type defaults to the data center’s first', async () => {
    const response = await create(MINIMAL);
    expect(response.statusCode).toBe(201);
    const offered = (await rest.call('GET', '/v2/catalog/datacenters/EU-RO-1', { key: rest.alice.key })).json();
    const { id, ...others } = response.json();
    expect(id).toMatch(/^[a-z][a-z0-9]+$/);
    expect(others).toEqual({ ...MINIMAL, type: offered.networkVolumeTypes[0], usedBytes: 0 });
    expect(await read(id)).toEqual(response.json());
  });

  test('keeps the given type', async () => {
    const response = await create({ ...MINIMAL, dataCenter: 'EU-CZ-1', type: 'HIGH_PERFORMANCE', size: 4096 });
    expect(response.json()).toMatchObject({ type: 'HIGH_PERFORMANCE', size: 4096 });
  });

  test.each([
    ['name', { name: '' }, '/name: must NOT have fewer than 1 characters'],
    ['too little', { size: 9 }, '/size: must be >= 10'],
    ['too much', { size: 4097 }, '/size: must be <= 4096'],
    ['half a GB', { size: 10.5 }, '/size: must be integer'],
    ['a missing data center', { dataCenter: undefined }, "$: must have required property 'dataCenter'"],
    ['type', { type: 'FAST' }, '/type: must be one of STANDARD, HIGH_PERFORMANCE'],
    ['an unknown property', { dataCenterId: 'x' }, "$: additional property 'dataCenterId' is not allowed"],
  ])('with a schema failure in %s is a 422 that names its place', async (_, change, error) => {
    const response = await create({ ...MINIMAL, ...change });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([error]);
  });

  test.each([
    ['an unknown data center', { dataCenter: 'MOON-1' }, "dataCenter: there is no data center 'MOON-1'"],
    [
      'a type that is not offered there',
      { dataCenter: 'EU-FR-1', type: 'HIGH_PERFORMANCE' },
      "type: data center 'EU-FR-1' does not offer network volumes of type HIGH_PERFORMANCE",
    ],
  ])('with %s is a 400', async (_, change, detail) => {
    const response = await create({ ...MINIMAL, ...change });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe(detail);
  });
});

describe('an update', () => {
  test('renames, enlarges, or both; the same size is no change', async () => {
    const id = await createId({ size: 20 });
    expect((await update(id, { name: 'renamed' })).json()).toMatchObject({ name: 'renamed', size: 20 });
    expect((await update(id, { size: 30 })).json()).toMatchObject({ name: 'renamed', size: 30 });
    expect((await update(id, { size: 30, name: 'x' })).statusCode).toBe(200);
    expect(await read(id)).toMatchObject({ name: 'x', size: 30 });
  });

  test('never shrinks', async () => {
    const id = await createId({ size: 20 });
    const response = await update(id, { name: 'not stored', size: 19 });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toMatch(/^size: .*can only grow.*20 GB.*19/);
    expect(await read(id)).toMatchObject({ name: 'models', size: 20 });
  });

  test('never shrinks with concurrent updates either', async () => {
    const id = await createId({ size: 10 });
    const answers = await Promise.all([40, 20, 30, 50, 25].map((size) => update(id, { size })));
    expect(answers.some((answer) => answer.statusCode === 200)).toBe(true);
    expect((await read(id)).size).toBe(50);
  });

  test.each([
    [{}, '$: must NOT have fewer than 1 properties'],
    [{ name: null }, '/name: must be string'],
    [{ size: null }, '/size: must be integer'],
    [{ size: 4097 }, '/size: must be <= 4096'],
    [{ dataCenter: 'EU-RO-1' }, "$: additional property 'dataCenter' is not allowed"],
    [{ type: 'STANDARD' }, "$: additional property 'type' is not allowed"],
  ])('%j is a 422', async (body, error) => {
    const response = await update('any', body);
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([error]);
  });
});

describe('an endpoint', () => {
  test('mounts the user’s volumes', async () => {
    const ids = [await createId(), await createId()];
    const response = await createEndpoint(ids);
    expect(response.statusCode).toBe(201);
    expect(response.json().networkVolumes).toEqual(ids);
  });

  test("cannot mount another user's volume: the 400 reveals nothing about it", async () => {
    const mine = await createId();
    const foreign = await createId({}, rest.bob.key);
    const response = await createEndpoint([mine, foreign]);
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe(`networkVolumes: there is no network volume '${foreign}'`);
    const endpoint = (await createEndpoint([mine])).json().id;
    const body = { networkVolumes: [foreign] };
    const patched = await rest.call('PATCH', `/v2/serverless/${endpoint}`, { key: rest.alice.key, body });
    expect(patched.json().detail).toBe(`networkVolumes: there is no network volume '${foreign}'`);
  });

  test('cannot mount the same volume twice', async () => {
    const id = await createId();
    expect((await createEndpoint([id, id])).json().detail).toBe(`networkVolumes: '${id}' is listed more than once`);
  });
});

describe('a delete', () => {
  test('returns 204 without a body, and the volume is gone', async () => {
    const id = await createId();
    const response = await remove(id);
    expect([response.statusCode, response.body]).toEqual([204, '']);
    expect((await remove(id)).statusCode).toBe(404);
  });

  test('is rejected while an endpoint or a remaining worker mounts it', async () => {
    const id = await createId();
    const endpoint = (await createEndpoint([id])).json();
    expect((await remove(id)).json()).toEqual({
      title: 'Bad Request',
      status: 400,
      detail: "The network volume is mounted by endpoint 'made'.",
    });
    await rest.database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec)
       select $1 || 'w', e.id, e.user_id, 1, 'demand', 'RUNNING', r.spec
       from endpoints e join releases r on r.endpoint_id = e.id where e.id = $1`,
      [endpoint.id],
    );
    await rest.call('DELETE', `/v2/serverless/${endpoint.id}`, { key: rest.alice.key });
    expect((await remove(id)).json().detail).toBe(`The network volume is mounted by worker '${endpoint.id}w'.`);
    await rest.database.pool.query(`update workers set phase = 'EXITED' where endpoint_id = $1`, [endpoint.id]);
    expect((await remove(id)).statusCode).toBe(204);
  });

  test('concurrent with a use never leaves an endpoint without its volume', async () => {
    for (let i = 0; i < 10; i++) {
      const id = await createId();
      const [deleted, created] = await Promise.all([remove(id), createEndpoint([id])]);
      expect([
        [204, 400],
        [400, 201],
      ]).toContainEqual([deleted.statusCode, created.statusCode]);
    }
  });
});

test('a list has the user’s volumes only, oldest first', async () => {
  const before = (await rest.call('GET', PATH, { key: rest.bob.key })).json().networkVolumes.length;
  const ids = [await createId({}, rest.bob.key), await createId({}, rest.bob.key)];
  await createId();
  const response = await rest.call('GET', PATH, { key: rest.bob.key });
  expect(Object.keys(response.json())).toEqual(['networkVolumes']);
  expect(
    response
      .json()
      .networkVolumes.map(({ id }: { id: string }) => id)
      .slice(before),
  ).toEqual(ids);
});

test("another user's volume and a missing one are the same 404", async () => {
  const id = await createId();
  for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
    const foreign = await rest.call(method, `${PATH}/${id}`, { key: rest.bob.key, body });
    const missing = await rest.call(method, `${PATH}/nosuchvolume`, { key: rest.bob.key, body });
    expect([method, foreign.statusCode]).toEqual([method, 404]);
    expect(foreign.rawPayload.equals(missing.rawPayload)).toBe(true);
    expect(foreign.json().detail).toBe('Network volume not found');
  }
  expect((await read(id)).name).toBe('models');
});

test('every operation needs a key with the permission', async () => {
  const id = await createId();
  const reader = await rest.keyFor(rest.alice, 'network-volumes:read');
  const other = await rest.keyFor(rest.alice, 'serverless:write');
  const one = await rest.keyFor(rest.alice, `network-volumes/${id}:write`);
  for (const url of [PATH, `${PATH}/${id}`]) {
    expect((await rest.call('GET', url)).statusCode).toBe(401);
    expect((await rest.call('GET', url, { key: other })).statusCode).toBe(403);
    expect((await rest.call('GET', url, { key: reader })).statusCode).toBe(200);
  }
  for (const [method, url] of [
    ['POST', PATH],
    ['PATCH', `${PATH}/${id}`],
    ['DELETE', `${PATH}/${id}`],
  ] as const) {
    expect((await rest.call(method, url, { body: {} })).statusCode).toBe(401);
    expect((await rest.call(method, url, { key: reader, body: {} })).statusCode).toBe(403);
  }
  expect((await create(MINIMAL, one)).statusCode).toBe(403);
  expect((await update(id, { name: 'x' }, one)).statusCode).toBe(200);
});
