import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';

const GPU = 'NVIDIA GeForce RTX 4090';

let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  const gpus = [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 9, free: 9, clouds: ['SECURE'] }];
  rest = await startRestApp({ capacity: { read: async () => ({ gpus, cpus: 8, memoryBytes: 2 ** 34 }) as never } });
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());
beforeEach(async () => {
  for (const table of ['budgets', 'usage_days']) await rest.database.pool.query(`delete from ${table}`);
});

const PATH = '/v2/billing/budgets';
const call = (method: string, path: string, body?: unknown, key = rest.alice.key) =>
  rest.call(method, path, { key, ...(body === undefined ? {} : { body }) });
const create = async (body: object, key?: string) => (await call('POST', PATH, body, key)).json();
const list = async (key?: string, query = '') => (await call('GET', PATH + query, undefined, key)).json().budgets;
const endpoint = async (name: string) =>
  (await call('POST', '/v2/serverless', { name, image: 'any:v1', gpu: { pools: ['ADA_24'] } })).json().id as string;
const spend = (person: Person, amount: string, endpointId = 'e1') =>
  rest.database.pool.query(
    `insert into usage_days values ($1, (now() at time zone 'UTC')::date, 'SERVERLESS', $2, 'e', 0, 0, 0, $3, 0, 0)`,
    [person.userId, endpointId, amount],
  );

test('a budget is set with defaults, listed with what was spent already, changed and deleted', async () => {
  await spend(rest.alice, '40.25');
  const made = await call('POST', PATH, { amount: '100' });
  expect(made.statusCode).toBe(201);
  const budget = {
    id: expect.any(String),
    userId: rest.alice.userId,
    userName: 'alice',
    endpointId: null,
    endpointName: null,
    isByAdmin: false,
    amount: '100',
    action: 'NOTIFY',
    notifyAt: [80, 100],
    webhook: null,
    month: new Date().toISOString().slice(0, 7),
    spent: '40.25',
    isStopped: false,
    passed: [],
  };
  expect(made.json()).toEqual(budget);
  expect(await list()).toEqual([budget]);
  const path = `${PATH}/${made.json().id}`;
  const changed = await call('PATCH', path, { amount: '40.5', action: 'STOP', notifyAt: [90, 50, 90] });
  expect(changed.json()).toEqual({ ...budget, amount: '40.5', action: 'STOP', notifyAt: [50, 90] });
  expect((await call('PATCH', path, { webhook: 'https://example.com/x' })).json().webhook).toBe(
    'https://example.com/x',
  );
  expect((await call('PATCH', path, {})).json().webhook).toBe('https://example.com/x');
  expect((await call('PATCH', path, { webhook: null })).json().webhook).toBeNull();
  expect((await call('DELETE', path)).statusCode).toBe(204);
  expect((await call('DELETE', path)).statusCode).toBe(404);
  expect(await list()).toEqual([]);
});

test('an endpoint has a budget of its own, which counts its cost alone and goes with it', async () => {
  const id = await endpoint('cheap');
  await spend(rest.alice, '3', id);
  await spend(rest.alice, '50');
  await create({ amount: '500' });
  const own = await create({ amount: '10', endpointId: id });
  expect(own).toMatchObject({ endpointId: id, endpointName: 'cheap', spent: '3' });
  expect((await list()).map(({ spent }: { spent: string }) => spent)).toEqual(['53', '3']);
  await call('DELETE', `/v2/serverless/${id}`);
  expect(await list()).toHaveLength(1);
});

describe('a budget that is used up and stops', () => {
  test('is a 403 for a new pod, a stopped pod and a cluster, with what to do; raised, it lets them through', async () => {
    const newPod = { name: 'p', image: 'any:v1', gpu: { id: GPU, count: 1 } };
    const { id: podId } = (await call('POST', '/v2/pods', newPod)).json();
    await rest.database.pool.query("update pods set wanted = 'STOP', phase = 'EXITED'");
    await spend(rest.alice, '100');
    const { id } = await create({ amount: '100', action: 'STOP' });
    const compute = { gpuTypeId: GPU, gpuCountPerPod: 1, podCount: 2 };
    const cluster = { name: 'c', type: 'TRAINING', image: 'any:v1', compute };
    const answers = [
      await call('POST', '/v2/pods', newPod),
      await call('POST', `/v2/pods/${podId}/action`, { action: 'start' }),
      await call('POST', '/v2/clusters', cluster),
    ];
    const detail = /^the monthly budget of 100 USD is used up; it is renewed on \d{4}-\d\d-01 \(UTC\)$/;
    for (const answer of answers) {
      expect([answer.statusCode, answer.json().detail]).toEqual([403, expect.stringMatching(detail)]);
    }
    expect((await call('POST', '/v2/pods', newPod, rest.bob.key)).statusCode).toBe(201);
    await call('PATCH', `${PATH}/${id}`, { amount: '100.01' });
    expect((await call('POST', '/v2/pods', newPod)).statusCode).toBe(201);
    await call('PATCH', `${PATH}/${id}`, { amount: '50', action: 'NOTIFY' });
    expect((await call('POST', '/v2/pods', newPod)).statusCode).toBe(201);
  });

  test('makes the endpoint PAUSED with the reason, and stops nothing else', async () => {
    const id = await endpoint('stopped');
    await spend(rest.alice, '7', id);
    await create({ amount: '7', action: 'STOP', endpointId: id });
    expect((await call('GET', `/v2/serverless/${id}/state`)).json()).toMatchObject({
      state: 'PAUSED',
      reason: expect.stringContaining('the endpoint’s monthly budget of 7 USD is used up'),
    });
    const newPod = { name: 'p', image: 'any:v1', gpu: { id: GPU, count: 1 } };
    expect((await call('POST', '/v2/pods', newPod)).statusCode).toBe(201);
  });
});

describe('an admin', () => {
  test('sets a budget for a user, who sees it but cannot change it, and may have one of their own', async () => {
    const set = await create(
      { amount: '30', action: 'STOP', userId: rest.alice.userId, webhook: 'https://ops.example.com/secret' },
      admin.key,
    );
    expect(set).toMatchObject({ isByAdmin: true, userName: 'alice', webhook: 'https://ops.example.com/secret' });
    await create({ amount: '20' });
    const seen = await list();
    expect(seen).toMatchObject([
      { isByAdmin: true, amount: '30', webhook: null },
      { isByAdmin: false, amount: '20' },
    ]);
    for (const method of ['PATCH', 'DELETE']) {
      const answer = await call(method, `${PATH}/${set.id}`, method === 'PATCH' ? { amount: '99' } : undefined);
      expect([answer.statusCode, answer.json().detail]).toEqual([
        403,
        'an admin set this budget: ask them to change it',
      ]);
    }
    expect(await list(admin.key, '?userId=all')).toMatchObject([{ webhook: set.webhook }, {}]);
    expect((await call('PATCH', `${PATH}/${set.id}`, { amount: '99' }, admin.key)).json().amount).toBe('99');
    expect((await call('DELETE', `${PATH}/${set.id}`, undefined, admin.key)).statusCode).toBe(204);
  });

  test('of an unknown user is a 404; others are refused for known and unknown alike', async () => {
    expect((await call('POST', PATH, { amount: '1', userId: 'nosuchuser' }, admin.key)).statusCode).toBe(404);
    for (const userId of [rest.bob.userId, 'nosuchuser']) {
      expect((await call('POST', PATH, { amount: '1', userId })).statusCode).toBe(403);
      expect((await call('GET', `${PATH}?userId=${userId}`)).statusCode).toBe(403);
    }
    const { id } = await create({ amount: '1' }, rest.bob.key);
    for (const unknown of [id, 'nosuchbudget']) {
      expect((await call('PATCH', `${PATH}/${unknown}`, {})).json()).toMatchObject({
        status: 404,
        detail: 'Budget not found',
      });
      expect((await call('DELETE', `${PATH}/${unknown}`)).statusCode).toBe(404);
    }
  });
});

test('an endpoint of somebody else is as unknown as none', async () => {
  const id = await endpoint('hers');
  const [foreign, missing] = await Promise.all(
    [id, 'nosuch'].map((endpointId) => call('POST', PATH, { amount: '1', endpointId }, rest.bob.key)),
  );
  for (const answer of [foreign!, missing!]) expect(answer.statusCode).toBe(400);
  expect(foreign!.json().detail.replace(id, 'nosuch')).toBe(missing!.json().detail);
});

test('there is one budget for the same, however many are set at once', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => call('POST', PATH, { amount: '5' })));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, ...Array(9).fill(409)]);
});

test.each([
  [{}, 422, "$: must have required property 'amount'"],
  [{ amount: 5 }, 422, '/amount: must be string'],
  [{ amount: '-5' }, 422, '/amount: must match pattern'],
  [{ amount: '1e9' }, 422, '/amount: must match pattern'],
  [{ amount: '5', action: 'BURN' }, 422, '/action: must be one of NOTIFY, STOP'],
  [{ amount: '5', notifyAt: [0] }, 422, '/notifyAt/0: must be >= 1'],
  [{ amount: '5', notifyAt: [1.5] }, 422, '/notifyAt/0: must be integer'],
  [{ amount: '5', moons: 1 }, 422, "$: additional property 'moons' is not allowed"],
  [{ amount: '5', webhook: 'ftp://x' }, 400, 'webhook: must be an http or https URL'],
  [{ amount: '5', endpointId: 'nosuch' }, 400, "endpointId: there is no endpoint 'nosuch'"],
])('%j is a %i', async (body, status, error) => {
  const answer = await call('POST', PATH, body);
  const { detail, errors = [detail] } = answer.json();
  expect([answer.statusCode, errors]).toEqual([status, [expect.stringContaining(error)]]);
});

test('reading needs billing:read, changing billing:write', async () => {
  const reader = await rest.keyFor(rest.alice, 'billing:read');
  const writer = await rest.keyFor(rest.alice, 'billing:write');
  expect((await rest.call('GET', PATH)).statusCode).toBe(401);
  expect((await call('GET', PATH, undefined, reader)).statusCode).toBe(200);
  expect((await call('POST', PATH, { amount: '1' }, reader)).statusCode).toBe(403);
  const { id } = await create({ amount: '1' }, writer);
  expect((await call('PATCH', `${PATH}/${id}`, {}, reader)).statusCode).toBe(403);
  expect((await call('DELETE', `${PATH}/${id}`, undefined, await rest.keyFor(rest.alice, 'all'))).statusCode).toBe(204);
});
