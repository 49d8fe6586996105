import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const CREATED = {
  name: 'transcriber',
  image: 'podyard/echo:1',
  env: { TOKEN: 'hunter2' },
  gpu: { pools: ['ADA_24'], count: 2 },
  workers: { min: 1, max: 5 },
};
const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown, key = rest.alice.key) =>
  rest.call(method, path, { key, ...(body === undefined ? {} : { body }) });
const update = (body: unknown) => call('PATCH', `/v2/serverless/${id}`, body);
const releases = async () => (await call('GET', `/v2/serverless/${id}/releases`)).json();
const releaseId = async (version: number): Promise<string> =>
  (await releases()).releases.find((release: { version: number }) => release.version === version).id;
const rollback = (release: string, key = rest.alice.key) =>
  call('POST', `/v2/serverless/${id}/releases/${release}/rollback`, undefined, key);
const rollout = (body: unknown, key = rest.alice.key) => call('POST', `/v2/serverless/${id}/rollout`, body, key);

const NOT_TRIED = { state: 'NOT_TRIED', reason: null, lines: [], workerId: null, servingVersion: null };
const insertReadyWorker = (workerId: string, version: number) =>
  rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, ready_at)
     values ($1, $2, $3, $4, '', '{}', 'RUNNING', now())`,
    [workerId, id, rest.alice.userId, version],
  );

beforeEach(async () => {
  id = (await call('POST', '/v2/serverless', CREATED)).json().id;
});

describe('rollback', () => {
  test('creates a release with the earlier configuration; settings outside releases are unchanged', async () => {
    await update({ image: 'podyard/echo:2', env: {}, gpu: { pools: ['AMPERE_24'] }, workers: { max: 9 }, name: 'new' });
    const response = await rollback(await releaseId(1));
    expect(response.statusCode).toBe(200);
    expect(response.json()).toMatchObject({
      image: 'podyard/echo:1',
      env: { TOKEN: 'hunter2' },
      gpu: { pools: ['ADA_24'], count: 2 },
      workers: { min: 1, max: 9 },
      name: 'new',
    });
    const list = await releases();
    expect(list.endpointVersion).toBe(3);
    expect(list.releases.map((release: { version: number }) => release.version)).toEqual([3, 2, 1]);
    expect(list.releases[0].diff).toContainEqual({ field: 'image', old: 'podyard/echo:2', new: 'podyard/echo:1' });
    expect(JSON.stringify(list)).not.toContain('hunter2');
  });

  test('to the current configuration creates no release', async () => {
    expect((await rollback(await releaseId(1))).statusCode).toBe(200);
    expect((await releases()).endpointVersion).toBe(1);
  });

  test('resumes a paused roll-out', async () => {
    await update({ image: 'podyard/echo:2' });
    await rollout({ action: 'pause' });
    await rollback(await releaseId(1));
    expect((await releases()).rollout.paused).toBe(false);
  });

  test('to a release with a deleted registry is a 400 that names it', async () => {
    const registry = (await call('POST', '/v2/registries', { name: 'r', username: 'u', password: 'p' })).json();
    await update({ registry: registry.id });
    const withRegistry = await releaseId(2);
    await update({ registry: null });
    expect((await call('DELETE', `/v2/registries/${registry.id}`)).statusCode).toBe(204);
    const response = await rollback(withRegistry);
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe(`registry: there is no registry '${registry.id}'`);
  });

  test('a release that is missing, of another endpoint or of another user is the same 404', async () => {
    const other = (await call('POST', '/v2/serverless', CREATED)).json().id;
    const [{ id: ofOther }] = (await call('GET', `/v2/serverless/${other}/releases`)).json().releases;
    const foreign = await rollback(await releaseId(1), rest.bob.key);
    expect(foreign.statusCode).toBe(404);
    expect(foreign.json().detail).toBe('Endpoint not found');
    for (const missing of ['nothing', ofOther]) {
      const response = await rollback(missing);
      expect(response.statusCode).toBe(404);
      expect(response.json().detail).toBe('Release not found');
    }
  });
});

describe('a roll-out', () => {
  test('can be paused and resumed, repeatedly', async () => {
    for (const [action, paused] of [
      ['pause', true],
      ['pause', true],
      ['resume', false],
      ['resume', false],
    ] as const) {
      const response = await rollout({ action });
      expect(response.statusCode).toBe(200);
      expect(response.json()).toEqual({
        inProgress: false,
        workersOnLatest: 0,
        workersTotal: 0,
        percentOnLatest: 0,
        paused,
        trial: NOT_TRIED,
      });
      expect((await releases()).rollout).toEqual(response.json());
    }
  });

  test('stays paused over the next release', async () => {
    await rollout({ action: 'pause' });
    await update({ image: 'podyard/echo:2' });
    expect((await releases()).rollout.paused).toBe(true);
  });

  test.each([[{}], [{ action: 'stop' }], [{ action: 'pause', more: 1 }], [null]])('%j is a 422', async (body) => {
    const response = await rollout(body);
    expect(response.statusCode).toBe(422);
    expect(response.json().detail).toBe('Request validation failed.');
  });

  test('of a missing or another user’s endpoint is a 404', async () => {
    const foreign = await rollout({ action: 'pause' }, rest.bob.key);
    const missing = await call('POST', '/v2/serverless/nothing/rollout', { action: 'pause' });
    for (const response of [foreign, missing]) {
      expect(response.statusCode).toBe(404);
      expect(response.json().detail).toBe('Endpoint not found');
    }
  });
});

describe('the trial of a release', () => {
  const trial = async () => (await releases()).rollout.trial;

  test('is asked for, skipped, and asked for again; other actions leave it alone', async () => {
    for (const [action, state] of [
      ['try', 'WAITING'],
      ['try', 'WAITING'],
      ['skip-trial', 'SKIPPED'],
      ['skip-trial', 'SKIPPED'],
      ['resume', 'SKIPPED'],
      ['try', 'WAITING'],
    ]) {
      const response = await rollout({ action });
      expect(response.statusCode).toBe(200);
      expect(response.json().trial).toMatchObject({ state, lines: [], workerId: null });
      expect(await trial()).toEqual(response.json().trial);
    }
  });

  test('is skipped where nothing may run', async () => {
    await update({ workers: { min: 0, max: 0 } });
    expect((await rollout({ action: 'try' })).json().trial).toEqual({
      state: 'SKIPPED',
      reason: 'workers.max is 0, so nothing runs',
      lines: [],
      workerId: null,
      servingVersion: null,
    });
  });

  test('belongs to its release: the next one has none', async () => {
    await rollout({ action: 'try' });
    await update({ image: 'podyard/echo:2' });
    expect(await trial()).toEqual(NOT_TRIED);
    await rollback(await releaseId(1));
    expect(await trial()).toEqual(NOT_TRIED);
  });

  test('has the cause and the last lines of a failure apart, and none of another user', async () => {
    await rollout({ action: 'try' });
    await rest.database.pool.query(
      "update release_trials set state = 'FAILED', worker_id = 'w1', reason = $2 where endpoint_id = $1",
      [id, 'it exited with code 1:\nTraceback:\nKeyError: a: b'],
    );
    expect(await trial()).toEqual({
      state: 'FAILED',
      reason: 'it exited with code 1',
      lines: ['Traceback:', 'KeyError: a: b'],
      workerId: 'w1',
      servingVersion: null,
    });
    const foreign = await call('GET', `/v2/serverless/${id}/releases`, undefined, rest.bob.key);
    expect(foreign.statusCode).toBe(404);
    for (const action of ['try', 'skip-trial']) expect((await rollout({ action }, rest.bob.key)).statusCode).toBe(404);
  });

  test('is not needed by a release of which a worker has been ready', async () => {
    await insertReadyWorker('ready1', 1);
    expect((await trial()).state).toBe('PASSED');
    await update({ image: 'podyard/echo:2' });
    expect(await trial()).toEqual(NOT_TRIED);
  });

  test('does not change what an update answers', async () => {
    const before = (await update({ image: 'podyard/echo:2' })).json();
    await rollout({ action: 'try' });
    const { image: _, ...after } = (await update({ image: 'podyard/echo:3' })).json();
    expect({ ...before, ...after }).toEqual({ ...before });
    expect(JSON.stringify(before)).not.toContain('trial');
  });
});

test('both need a key with write access to endpoints', async () => {
  const reading = await rest.keyFor(rest.alice, 'serverless:read');
  for (const path of [`/v2/serverless/${id}/rollout`, `/v2/serverless/${id}/releases/x/rollback`]) {
    expect((await rest.call('POST', path, { body: { action: 'pause' } })).statusCode).toBe(401);
    expect((await call('POST', path, { action: 'pause' }, reading)).statusCode).toBe(403);
  }
});
