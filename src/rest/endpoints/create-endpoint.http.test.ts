import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const MINIMAL = { name: 'hello', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
const create = (body: unknown, key = rest.alice.key) => rest.call('POST', '/v2/serverless', { key, body });

test('a minimal create returns 201 with the whole record and every default', async () => {
  const response = await create(MINIMAL);
  expect(response.statusCode).toBe(201);
  const { id, createdAt, ...others } = response.json();
  expect(id).toMatch(/^[a-z][a-z0-9]+$/);
  expect(new Date(createdAt).toISOString()).toBe(createdAt);
  expect(others).toEqual({
    name: 'hello',
    type: 'QUEUE_BASED',
    requestUrls: {
      run: `http://podyard.test:8080/v2/${id}/run`,
      runSync: `http://podyard.test:8080/v2/${id}/runsync`,
    },
    gpu: { pools: ['ADA_24'], count: 1 },
    cpu: null,
    workers: { min: 0, max: 3 },
    scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
    dataCenterIds: [],
    networkVolumes: [],
    timeout: 300000,
    flashboot: 'OFF',
    image: 'podyard/echo:1',
    args: '',
    disk: 20,
    ports: [],
    env: {},
    registry: null,
  });
});

test('every given field is in the response and in a later read', async () => {
  const given = {
    name: 'full',
    image: 'registry.test/a/b@sha256:00',
    type: 'LOAD_BALANCING',
    args: '{"cmd":["python","-u"]}',
    disk: 7,
    ports: ['80/http', '65535/tcp'],
    env: { A: '', PATH: '{{ RUNPOD_SECRET_x }}', constructor: 'c', ünï_code: '1=2' },
    registry: null,
    gpu: { pools: ['HOPPER_141', 'AMPERE_16'], count: 2 },
    workers: { min: 1, max: 1 },
    scaling: { type: 'REQUEST_COUNT', value: 0.5, idleTimeout: 0 },
    dataCenterIds: ['EU-RO-1', 'US-TX-3'],
    networkVolumes: [],
    timeout: 0,
    flashboot: 'PRIORITY_FLASHBOOT',
  };
  const response = await create(given);
  expect(response.statusCode).toBe(201);
  expect(response.json()).toMatchObject(given);
  expect(response.json().requestUrls).toEqual({ base: `http://podyard.test:8080/v2/${response.json().id}/lb` });
  const read = await rest.call('GET', `/v2/serverless/${response.json().id}`, { key: rest.alice.key });
  expect(read.json()).toEqual(response.json());
});

test('absent members of workers and scaling get their defaults one by one', async () => {
  const { workers, scaling } = (await create({ ...MINIMAL, workers: { max: 9 }, scaling: { value: 1 } })).json();
  expect(workers).toEqual({ min: 0, max: 9 });
  expect(scaling).toEqual({ type: 'QUEUE_DELAY', value: 1, idleTimeout: 5 });
});

test('a pool or data center that is listed twice is kept once, in a create and in an update', async () => {
  const twice = { gpu: { pools: ['ADA_24', 'ADA_24'] }, dataCenterIds: ['LOCAL-1', 'LOCAL-1'] };
  const once = { gpu: { pools: ['ADA_24'] }, dataCenterIds: ['LOCAL-1'] };
  const { id, ...created } = (await create({ ...MINIMAL, ...twice })).json();
  expect(created).toMatchObject(once);
  const updated = await rest.call('PATCH', `/v2/serverless/${id}`, { key: rest.alice.key, body: twice });
  expect(updated.json()).toMatchObject(once);
});

test('a create notifies the scaler and creates the first release, with an empty diff', async () => {
  const hints: string[] = [];
  const unsubscribe = rest.bus.subscribe('endpoint', (id) => hints.push(id));
  const { id } = (await create(MINIMAL)).json();
  unsubscribe();
  expect(hints).toEqual([id]);
  const releases = (await rest.call('GET', `/v2/serverless/${id}/releases`, { key: rest.alice.key })).json();
  expect(releases).toMatchObject({ endpointVersion: 1, releases: [{ version: 1, diff: [], source: 'MANUAL' }] });
});

test.each([
  ['name', { name: '' }, '/name: must NOT have fewer than 1 characters'],
  ['a required field', { name: undefined }, "$: must have required property 'name'"],
  ['gpu', { gpu: undefined }, "$: must have required property 'gpu'"],
  ['pools', { gpu: { pools: [] } }, '/gpu/pools: must NOT have fewer than 1 items'],
  ['gpu.count', { gpu: { pools: ['ADA_24'], count: -1 } }, '/gpu/count: must be >= 1'],
  ['a member of gpu', { gpu: { pools: ['ADA_24'], x: 1 } }, "/gpu: additional property 'x' is not allowed"],
  ['registry', { registry: '' }, '/registry: must NOT have fewer than 1 characters'],
  ['workers.min', { workers: { min: -1 } }, '/workers/min: must be >= 0'],
  ['a number too large to store', { workers: { max: 2 ** 31 } }, '/workers/max: must be <= 2147483647'],
  ['scaling.value', { scaling: { value: 0.4 } }, '/scaling/value: must be >= 0.5'],
  ['scaling.type', { scaling: { type: 'X' } }, '/scaling/type: must be one of QUEUE_DELAY, REQUEST_COUNT'],
  ['flashboot', { flashboot: 'on' }, '/flashboot: must be one of OFF, FLASHBOOT, PRIORITY_FLASHBOOT'],
  ['disk', { disk: 0 }, '/disk: must be >= 1'],
  ['a type, without coercion', { disk: '20' }, '/disk: must be integer'],
  ['env values', { env: { A: 1 } }, '/env/A: must be string'],
  ['registry', { registry: 1 }, '/registry: must be string or null'],
  ['an unknown property', { surprise: 1 }, "$: additional property 'surprise' is not allowed"],
  ['cpu, which cannot be created', { cpu: { id: 'cpu3c' } }, "$: additional property 'cpu' is not allowed"],
  ['NUL in a text', { name: 'a\0b' }, '/name: must not contain the character NUL'],
  ['half a character', { env: { A: '\ud800' } }, '/env/A: must be well-formed Unicode'],
])('a schema failure in %s is a 422 that names its place', async (_, change, error) => {
  const response = await create({ ...MINIMAL, ...change });
  expect(response.statusCode).toBe(422);
  expect(response.json()).toEqual({
    title: 'Unprocessable Entity',
    status: 422,
    detail: 'Request validation failed.',
    errors: [error],
  });
});

test.each(['80', '0/http', '65536/tcp', '80/udp', '080/http', '80/http '])('port %j is a 422', async (port) => {
  const response = await create({ ...MINIMAL, ports: [port] });
  expect(response.statusCode).toBe(422);
  expect(response.json().errors[0]).toMatch(/^\/ports\/0: must match pattern/);
});

test.each(['', 'A=B'])('environment name %j is a 422', async (name) => {
  const response = await create({ ...MINIMAL, env: { [name]: 'x' } });
  expect(response.statusCode).toBe(422);
  expect(response.json().errors).toEqual([`/env: name '${name}' must match pattern "^[^=]+$"`]);
});

test('all failures of a body are listed, not only the first', async () => {
  const response = await create({ name: '', workers: { min: -1, max: 'x' } });
  expect(response.json().errors).toHaveLength(5);
});

test.each([
  [
    'workers.min above workers.max',
    { workers: { min: 4 } },
    'workers.min (4) must not be greater than workers.max (3)',
  ],
  ['an unknown pool', { gpu: { pools: ['ADA_24', 'NOPE'] } }, "gpu.pools: there is no GPU pool 'NOPE'"],
  ['an unknown data center', { dataCenterIds: ['MOON-1'] }, "dataCenterIds: there is no data center 'MOON-1'"],
  ['a port listed twice', { ports: ['80/tcp', '80/tcp'] }, "ports: '80/tcp' is listed more than once"],
  ['an unknown registry', { registry: 'r1' }, "registry: there is no registry 'r1'"],
  ['an unknown volume', { networkVolumes: ['v1'] }, "networkVolumes: there is no network volume 'v1'"],
  ['an unknown template', { templateId: 't1' }, "templateId: there is no template 't1'"],
])('%s is a 400 that names the field', async (_, change, detail) => {
  const response = await create({ ...MINIMAL, ...change });
  expect(response.statusCode).toBe(400);
  expect(response.json()).toEqual({ title: 'Bad Request', status: 400, detail });
});

test('a rejected create stores nothing', async () => {
  const count = async () => (await rest.database.pool.query('select from endpoints')).rowCount;
  const before = await count();
  await create({ ...MINIMAL, registry: 'r1' });
  expect(await count()).toBe(before);
});

test('a create needs serverless:write for all endpoints', async () => {
  for (const scope of ['read-only', 'serverless:read', 'invoke', 'pods:write', 'serverless/abc:write']) {
    expect((await create(MINIMAL, await rest.keyFor(rest.alice, scope))).statusCode).toBe(403);
  }
  expect((await create(MINIMAL, await rest.keyFor(rest.alice, 'serverless:write'))).statusCode).toBe(201);
});

test('a create without a valid key is a 401', async () => {
  expect((await rest.call('POST', '/v2/serverless', { body: MINIMAL })).statusCode).toBe(401);
  expect((await create(MINIMAL, 'pyk_wrong')).statusCode).toBe(401);
});
