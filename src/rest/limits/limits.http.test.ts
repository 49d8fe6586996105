import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { LIMITS } from '../../domain/quotas/limits.ts';

let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  const gpuTypeId = 'NVIDIA GeForce RTX 4090';
  const gpus = [{ pool: 'ADA_24', gpuTypeId, dataCenterId: 'LOCAL-1', total: 9, free: 9, clouds: ['SECURE'] }];
  rest = await startRestApp({ capacity: { read: async () => ({ gpus, cpus: 8, memoryBytes: 2 ** 34 }) as never } });
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());
beforeEach(() => rest.database.pool.query('delete from user_limits'));

const OWN = '/v2/account/limits';
const ALL = '/v2/account/users';
const DEFAULTS = '/v2/account/installation/limits';
const of = (person: Person) => `${ALL}/${person.userId}/limits`;
const patch = (path: string, body: unknown, key = admin.key) => rest.call('PATCH', path, { key, body });
const get = (path: string, key = admin.key) => rest.call('GET', path, { key });

const newEndpoint = { name: 'x', image: 'any:v1', gpu: { pools: ['ADA_24'] } };
const newPod = { name: 'p', image: 'any:v1', gpu: { id: 'NVIDIA GeForce RTX 4090', count: 2 } };
const create = (path: string, body: object, key = rest.alice.key) => rest.call('POST', path, { key, body });

test('a user sees their own limits and use', async () => {
  await patch(of(rest.alice), { workers: 5, gpuQuota: 2, gpus: 8 });
  await patch(DEFAULTS, { pods: 3 });
  const { id } = (await create('/v2/serverless', newEndpoint)).json();
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_count)
     select 'w' || n, $1, $2, 1, '', '{}', 'RUNNING', 1 from generate_series(1, 3) n`,
    [id, rest.alice.userId],
  );
  await rest.database.pool.query(
    "insert into endpoint_counters (endpoint_id, lane, queued, queued_low, queued_bytes) values ($1, 'a', 4, 1, 50)",
    [id],
  );
  const seen = (await get(OWN, rest.alice.key)).json();
  expect(seen).toMatchObject({
    userId: rest.alice.userId,
    name: 'alice',
    limits: { workers: 5, gpus: 8, pods: 3, gpuQuota: 2, endpoints: LIMITS.endpoints.builtIn, requestBytes: null },
    own: { workers: 5, gpuQuota: 2, gpus: 8 },
    usage: { endpoints: 1, pods: 0, workers: 3, gpus: 3, queuedJobs: 5, queuedBytes: 50, logBytesToday: 0 },
    quotas: { workers: { quota: null, used: 3, borrowed: 0 }, gpus: { quota: 2, used: 3, borrowed: 1 } },
  });
  expect((await get(of(rest.alice))).json()).toEqual(seen);
  expect((await get(ALL)).json().users.find(({ name }: { name: string }) => name === 'alice')).toMatchObject(seen);
  expect((await get(OWN, rest.bob.key)).json()).toMatchObject({ name: 'bob', own: {}, usage: { workers: 0 } });
  await rest.database.pool.query('delete from workers');
  await rest.call('DELETE', `/v2/serverless/${id}`, { key: rest.alice.key });
});

describe('a change', () => {
  test('of an absent limit is none; null is unlimited, a number a value, DEFAULT inherits again', async () => {
    await patch(DEFAULTS, { endpoints: 7 });
    expect((await patch(of(rest.alice), { endpoints: 3, pods: 2 })).json().own).toEqual({ endpoints: 3, pods: 2 });
    expect((await patch(of(rest.alice), {})).json().own).toEqual({ endpoints: 3, pods: 2 });
    expect((await patch(of(rest.alice), { endpoints: null })).json()).toMatchObject({
      own: { endpoints: null, pods: 2 },
      limits: { endpoints: null },
    });
    expect((await patch(of(rest.alice), { endpoints: 'DEFAULT' })).json()).toMatchObject({
      own: { pods: 2 },
      limits: { endpoints: 7 },
    });
    expect((await patch(DEFAULTS, { endpoints: 'DEFAULT' })).json()).toEqual({
      own: {},
      limits: (await get(OWN, rest.bob.key)).json().limits,
    });
  });

  test('that leaves a quota above its limit is a 400, and changes nothing', async () => {
    await patch(of(rest.alice), { gpus: 4 });
    const answer = await patch(of(rest.alice), { gpuQuota: 5, pods: 1 });
    expect([answer.statusCode, answer.json().detail]).toEqual([400, "gpuQuota: 5 is more than the limit 'gpus' of 4"]);
    expect((await patch(DEFAULTS, { workerQuota: 1_001 })).statusCode).toBe(400);
    expect((await get(of(rest.alice))).json().own).toEqual({ gpus: 4 });
  });

  test.each([
    [{ workers: -1 }, '/workers: must be >= 0'],
    [{ workers: 1.5 }, '/workers: must be integer or null or string'],
    [{ workers: 'default' }, '/workers: must match pattern "^DEFAULT$"'],
    [{ workers: 2 ** 53 }, '/workers: must be <= 9007199254740991'],
    [{ moons: 1 }, "$: additional property 'moons' is not allowed"],
  ])('%j is a 422', async (body, error) => {
    for (const path of [of(rest.alice), DEFAULTS]) {
      const answer = await patch(path, body);
      expect([answer.statusCode, answer.json().errors]).toEqual([422, [error]]);
    }
  });

  test('without a body is a 400, of an unknown user a 404', async () => {
    expect((await patch(DEFAULTS, undefined)).statusCode).toBe(400);
    expect((await patch(`${ALL}/nosuchuser/limits`, {})).statusCode).toBe(404);
    expect((await get(`${ALL}/nosuchuser/limits`)).statusCode).toBe(404);
  });

  test('is for the operator alone, and an unknown user looks like a known one to others', async () => {
    const nobody = `${ALL}/nosuchuser/limits`;
    for (const path of [of(rest.alice), of(rest.bob), nobody, DEFAULTS]) {
      const answers = [await get(path, rest.alice.key), await patch(path, { workers: 1 }, rest.alice.key)];
      for (const answer of answers) expect([answer.statusCode, answer.json().detail]).toEqual([403, 'access denied']);
    }
    expect((await get(ALL, rest.alice.key)).statusCode).toBe(403);
    const reader = await rest.keyFor(admin, 'account:read');
    expect((await get(ALL, reader)).statusCode).toBe(200);
    expect((await patch(DEFAULTS, {}, reader)).statusCode).toBe(403);
    for (const path of [OWN, ALL, DEFAULTS]) expect((await rest.call('GET', path, {})).statusCode).toBe(401);
    expect((await get(OWN, await rest.keyFor(rest.alice, 'serverless:write'))).statusCode).toBe(403);
  });
});

describe('a request beyond a limit', () => {
  test('for an endpoint or a pod is a 403 with the figures, in GraphQL too', async () => {
    await patch(of(rest.alice), { endpoints: 0, pods: 0 });
    const endpoint = await create('/v2/serverless', newEndpoint);
    const detail = "the limit 'endpoints' allows 0 endpoints; this needs 1";
    expect([endpoint.statusCode, endpoint.json().detail]).toEqual([403, detail]);
    const pod = await create('/v2/pods', newPod);
    expect([pod.statusCode, pod.json().detail]).toEqual([403, "the limit 'pods' allows 0 pods; this needs 1"]);
    const { errors } = await rest.graphql(
      'mutation { saveEndpoint(input: { name: "x", gpuIds: "ADA_24", template: { name: "t", imageName: "a:1", containerDiskInGb: 5, volumeInGb: 0, dockerArgs: "", env: [] } }) { id } }',
      { key: rest.alice.key },
    );
    expect(errors?.[0]).toMatchObject({ message: detail, extensions: { code: 'FORBIDDEN' } });
  });

  test('for GPUs is a 429 with Retry-After once they are used up', async () => {
    await patch(of(rest.alice), { gpus: 3 });
    const first = await create('/v2/pods', newPod);
    expect(first.statusCode).toBe(201);
    const refused = await create('/v2/pods', newPod);
    expect([refused.statusCode, refused.headers['retry-after'], refused.json().detail]).toEqual([
      429,
      '5',
      "the limit 'gpus' allows 3 GPUs at once; 2 are in use, and this needs 2 more",
    ]);
    await rest.call('POST', `/v2/pods/${first.json().id}/action`, {
      key: rest.alice.key,
      body: { action: 'terminate' },
    });
  });

  test('for workers is stored: workers.max may be any number', async () => {
    await patch(of(rest.alice), { workers: 1 });
    const stored = await create('/v2/serverless', { ...newEndpoint, workers: { min: 0, max: 2_147_483_647 } });
    expect([stored.statusCode, stored.json().workers.max]).toEqual([201, 2_147_483_647]);
  });
});
