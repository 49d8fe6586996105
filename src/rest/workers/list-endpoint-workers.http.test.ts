import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp();
  const body = { name: 'busy', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});
afterAll(() => rest.close());

async function insertWorker(workerId: string, columns: Record<string, unknown> = {}): Promise<void> {
  const values = {
    id: workerId,
    endpoint_id: id,
    user_id: rest.alice.userId,
    version: 1,
    wanted_reason: 'demand',
    phase: 'RUNNING',
    spec: { image: 'podyard/echo:1' },
    ...columns,
  };
  const names = Object.keys(values);
  await rest.database.pool.query(
    `insert into workers (${names.join()}) values (${names.map((_, i) => `$${i + 1}`).join()})`,
    Object.values(values),
  );
}

const list = async (path: string, key = rest.alice.key) => rest.call('GET', `/v2/serverless/${id}/${path}`, { key });

test('an endpoint without workers has an empty list, a summary of zeros and no roll-out', async () => {
  expect((await list('workers')).json()).toEqual({
    workers: [],
    summary: { running: 0, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, total: 0 },
    endpointVersion: 1,
  });
  expect((await list('releases')).json().rollout).toEqual({
    inProgress: false,
    workersOnLatest: 0,
    workersTotal: 0,
    percentOnLatest: 0,
    paused: false,
    trial: { state: 'NOT_TRIED', reason: null, lines: [], workerId: null, servingVersion: null },
  });
});

test('live workers are listed with their status and counted in the summary', async () => {
  const startedAt = new Date(Date.now() - 90_500);
  await insertWorker('w1busy', { ready_at: startedAt, started_at: startedAt, gpu_count: 2, gpu_type_id: 'NVIDIA L4' });
  await insertWorker('w2idle', { ready_at: startedAt, started_at: startedAt, data_center_id: 'EU-RO-1' });
  await insertWorker('w3starting', { phase: 'STARTING' });
  await insertWorker('w4waiting', { phase: 'PENDING', phase_reason: 'no capacity: ADA_24 has 0 of 4 GPUs free' });
  await insertWorker('w5ill', { ready_at: startedAt });
  await insertWorker('w6gone', { phase: 'EXITED' });
  await insertWorker('w6frozen', { phase: 'FROZEN', wanted: 'FREEZE', ready_at: startedAt, frozen_at: startedAt });
  const { pool } = rest.database;
  await pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl, worker_id)
     values ('j1', $1, 'IN_PROGRESS', false, false, '{}', now(), false, 'w1busy')`,
    [id],
  );
  await pool.query(
    `insert into worker_activity (worker_id, seen_at, unhealthy_reason) values ('w5ill', now(), 'disk')`,
  );
  const { workers, summary } = (await list('workers')).json();
  expect(workers.map((worker: { id: string; status: string }) => [worker.id, worker.status])).toEqual([
    ['w1busy', 'RUNNING'],
    ['w2idle', 'IDLE'],
    ['w3starting', 'INITIALIZING'],
    ['w4waiting', 'THROTTLED'],
    ['w5ill', 'UNHEALTHY'],
  ]);
  expect(summary).toEqual({ running: 1, idle: 1, initializing: 1, throttled: 1, unhealthy: 1, total: 5 });
  expect(workers[0]).toEqual({
    id: 'w1busy',
    status: 'RUNNING',
    isStale: false,
    version: 1,
    image: 'podyard/echo:1',
    gpuCount: 2,
    gpuTypeId: 'NVIDIA L4',
    dataCenterId: null,
    uptimeSeconds: 90,
    startedAt: startedAt.toISOString(),
    reason: null,
  });
  expect(workers[2]).toMatchObject({ uptimeSeconds: null, startedAt: null });
  expect(workers[3].reason).toBe('no capacity: ADA_24 has 0 of 4 GPUs free');
  expect(workers[4].reason).toBe('disk');
});

test('after an update, old workers are stale until all run the newest release', async () => {
  const body = { image: 'podyard/echo:2' };
  await rest.call('PATCH', `/v2/serverless/${id}`, { key: rest.alice.key, body });
  await insertWorker('w7new', { version: 2 });
  const workers = (await list('workers')).json();
  expect(workers.endpointVersion).toBe(2);
  expect(workers.workers.filter((worker: { isStale: boolean }) => worker.isStale)).toHaveLength(5);
  const { rollout, releases } = (await list('releases')).json();
  expect(rollout).toMatchObject({ inProgress: true, workersOnLatest: 1, workersTotal: 6, percentOnLatest: 16 });
  expect(releases.map((release: { workerCount: number }) => release.workerCount)).toEqual([1, 5]);
  await rest.database.pool.query(`update workers set phase = 'EXITED' where version = 1`);
  expect((await list('releases')).json().rollout).toMatchObject({ inProgress: false, percentOnLatest: 100 });
});

test("workers and releases need read access; another user's endpoint and a missing one are the same 404", async () => {
  for (const path of ['workers', 'releases']) {
    expect((await list(path, await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
    expect((await list(path, await rest.keyFor(rest.alice, `serverless/${id}:read`))).statusCode).toBe(200);
    const foreign = await list(path, rest.bob.key);
    const missing = await rest.call('GET', `/v2/serverless/nosuchendpoint/${path}`, { key: rest.bob.key });
    expect(foreign.statusCode).toBe(404);
    expect(foreign.body).toBe(missing.body);
  }
});

test('with include=ENDED, workers that ended within a day are listed, the last one first, with reason and exit code', async () => {
  const body = { name: 'ended', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  const other = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  const end = (workerId: string, minutes: number, more: object) =>
    insertWorker(workerId, { endpoint_id: other, phase: 'EXITED', exited_at: ago(minutes), ...more });
  const reason = 'it exited with code 1:\nValueError: no model';
  await end('crashed', 5, { phase_reason: reason, exit_code: 1, is_lost: true, started_at: ago(6) });
  await end('drained', 9, { phase_reason: 'idle for 5 s' });
  await end('long ago', 60 * 24 + 1, { phase_reason: 'idle for 5 s' });
  await insertWorker('alive', { endpoint_id: other });
  const listed = async (query: string, key = rest.alice.key) =>
    (await rest.call('GET', `/v2/serverless/${other}/workers${query}`, { key })).json();
  const answer = await listed('?include=ENDED');
  expect(answer.ended.map((worker: { id: string }) => worker.id)).toEqual(['crashed', 'drained']);
  expect(answer.ended[0]).toEqual({
    id: 'crashed',
    status: 'EXITED',
    isStale: false,
    version: 1,
    image: 'podyard/echo:1',
    gpuCount: 0,
    gpuTypeId: null,
    dataCenterId: null,
    uptimeSeconds: 60,
    startedAt: expect.any(String),
    reason,
    lost: true,
    createdAt: expect.any(String),
    endedAt: expect.any(String),
    exitCode: 1,
  });
  expect(answer.workers.map((worker: { id: string }) => worker.id)).toEqual(['alive']);
  expect(answer.summary.total).toBe(1);
  expect(await listed('')).not.toHaveProperty('ended');
  expect(await listed('?include=OTHER')).not.toHaveProperty('ended');
  await Promise.all(Array.from({ length: 120 }, (_, n) => end(`many${n}`, n, {})));
  expect((await listed('?include=ended,other')).ended).toHaveLength(100);
  const foreign = await rest.call('GET', `/v2/serverless/${other}/workers?include=ENDED`, { key: rest.bob.key });
  expect(foreign.statusCode).toBe(404);
});

test('with include=STARTS, the last starts have their stages, the newest first, whether they succeeded or not', async () => {
  const body = { name: 'started', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  const other = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, second));
  const marks = (...stages: [string, number][]) =>
    JSON.stringify(Object.fromEntries(stages.map(([stage, second]) => [`${stage}At`, at(second).toISOString()])));
  const start = (workerId: string, second: number, more: object) =>
    insertWorker(workerId, { endpoint_id: other, created_at: at(second), ...more });
  await start('ready', 0, {
    phase: 'RUNNING',
    ready_at: at(20),
    timeline: marks(['capacity', 2], ['pull', 16], ['create', 17], ['start', 18], ['ready', 20]),
  });
  await start('failed', 5, { phase: 'EXITED', exited_at: at(9), timeline: marks(['capacity', 6]) });
  await start('waiting', 30, { timeline: '{}' });
  const { starts } = (
    await rest.call('GET', `/v2/serverless/${other}/workers?include=STARTS`, { key: rest.alice.key })
  ).json();
  const brief = starts.map((one: { workerId: string; ready: boolean; failed: boolean; timeline: object[] }) => [
    one.workerId,
    one.ready,
    one.failed,
    one.timeline.map((stage) => Object.values(stage).at(-1)),
  ]);
  expect(brief).toEqual([
    ['waiting', false, false, [null]],
    ['failed', false, true, [1_000, 3_000]],
    ['ready', true, false, [2_000, 14_000, 1_000, 1_000, 2_000]],
  ]);
  await Promise.all(
    Array.from({ length: 30 }, (_, n) => start(`more${n}`, 31 + n, { phase: 'EXITED', exited_at: at(0) })),
  );
  const both = (
    await rest.call('GET', `/v2/serverless/${other}/workers?include=STARTS,ENDED`, { key: rest.alice.key })
  ).json();
  expect(both.starts).toHaveLength(20);
  expect(both).toHaveProperty('ended');
});
