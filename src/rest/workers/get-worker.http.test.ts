import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

const USAGE = { cpuUtil: 12.5, memoryUtil: 33, gpus: [{ util: 87, memoryUtil: 41 }] };
let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp({
    podFigures: { read: async ([asked]) => new Map(asked === 'wbusy' ? [[asked, USAGE] as const] : []) },
  });
  const body = { name: 'explained', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});
afterAll(() => rest.close());

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));

async function insertWorker(workerId: string, columns: Record<string, unknown>): Promise<void> {
  const values = {
    id: workerId,
    endpoint_id: id,
    user_id: rest.alice.userId,
    version: 1,
    wanted_reason: 'a job waits and there is no worker',
    spec: { image: 'podyard/echo:1' },
    created_at: at(0),
    ...columns,
  };
  const names = Object.keys(values);
  await rest.database.pool.query(
    `insert into workers (${names.join()}) values (${names.map((_, i) => `$${i + 1}`).join()})`,
    Object.values(values),
  );
}

const get = (workerId: string, key = rest.alice.key, query = '') =>
  rest.call('GET', `/v2/serverless/${id}/workers/${workerId}${query}`, { key });

test('a worker shows how long each stage of its start took', async () => {
  const marks = { capacityAt: at(1), pullAt: at(3), createAt: at(6), startAt: at(10), readyAt: at(15) };
  await insertWorker('wready', { phase: 'RUNNING', timeline: marks, started_at: at(10), ready_at: at(15) });
  const answer = await get('wready');
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({
    id: 'wready',
    status: 'IDLE',
    reason: null,
    decision: 'a job waits and there is no worker',
    createdAt: at(0).toISOString(),
    endedAt: null,
    timeline: [
      { stage: 'capacity', from: at(0).toISOString(), to: at(1).toISOString(), ms: 1000 },
      { stage: 'pull', ms: 2000 },
      { stage: 'create', ms: 3000 },
      { stage: 'start', ms: 4000 },
      { stage: 'ready', ms: 5000 },
    ],
  });
});

test('a worker without capacity is throttled and shows the reason', async () => {
  const reason = 'no capacity: it needs 2 GPUs together; ADA_24 has 1 of 4 free';
  await insertWorker('wthrottled', { phase: 'PENDING', phase_reason: reason });
  expect((await get('wthrottled')).json()).toMatchObject({
    status: 'THROTTLED',
    reason,
    timeline: [{ stage: 'capacity', to: null, ms: null }],
  });
});

test('frozen and ended workers can be read, although the list omits them', async () => {
  const frozen = {
    phase: 'FROZEN',
    wanted: 'FREEZE',
    wanted_reason: 'idle for 5 s',
    memory_bytes: 1234,
    frozen_at: at(60),
  };
  await insertWorker('wfrozen', { ...frozen, started_at: at(10), ready_at: at(15) });
  await insertWorker('wgone', {
    phase: 'EXITED',
    phase_reason: 'it exited with code 3',
    exit_code: 3,
    exited_at: at(70),
  });
  expect((await get('wfrozen')).json()).toMatchObject({
    status: 'FROZEN',
    reason: 'idle for 5 s',
    frozenAt: at(60).toISOString(),
    frozenMemoryBytes: 1234,
  });
  expect((await get('wgone')).json()).toMatchObject({
    status: 'EXITED',
    reason: 'it exited with code 3',
    exitCode: 3,
    endedAt: at(70).toISOString(),
  });
  const list = await rest.call('GET', `/v2/serverless/${id}/workers`, { key: rest.alice.key });
  expect(
    list
      .json()
      .workers.map((worker: { id: string }) => worker.id)
      .sort(),
  ).toEqual(['wready', 'wthrottled']);
});

test('a worker of a CPU endpoint shows what it got of the selection', async () => {
  const cpu = { id: 'cpu3g', vcpuCount: 2, memory: 8 };
  await insertWorker('wcpu', { phase: 'RUNNING', started_at: at(1), cpu });
  expect((await get('wcpu')).json()).toMatchObject({ cpu, gpuCount: 0 });
  expect((await get('wready')).json().cpu).toBeNull();
  await rest.database.pool.query("delete from workers where id = 'wcpu'");
});

test('a worker of another user, of another endpoint and a missing one are the same 404', async () => {
  const body = { name: 'other', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  const other = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  const missing = await get('nosuchworker');
  expect(missing.statusCode).toBe(404);
  const elsewhere = await rest.call('GET', `/v2/serverless/${other}/workers/wready`, { key: rest.alice.key });
  expect(elsewhere.statusCode).toBe(404);
  expect(elsewhere.body).toBe(missing.body);
  const foreign = await get('wready', rest.bob.key);
  const none = await rest.call('GET', '/v2/serverless/nosuchendpoint/workers/wready', { key: rest.bob.key });
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(none.body);
});

test('it needs a key with read access to the endpoint', async () => {
  expect((await rest.call('GET', `/v2/serverless/${id}/workers/wready`, {})).statusCode).toBe(401);
  expect((await get('wready', await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
  expect((await get('wready', await rest.keyFor(rest.alice, `serverless/${id}:read`))).statusCode).toBe(200);
});

test('what a worker uses now is shown to who asks; null where nothing is known', async () => {
  const running = { phase: 'RUNNING', timeline: {}, started_at: at(0), ready_at: at(0) };
  await insertWorker('wbusy', running);
  await insertWorker('wunknown', running);
  await insertWorker('wended', { phase: 'EXITED', timeline: {}, exited_at: at(9) });
  const asked = async (workerId: string) => (await get(workerId, rest.alice.key, '?include=usage')).json().usage;
  expect(await asked('wbusy')).toEqual({ cpu: { util: 12.5 }, memory: { util: 33 }, gpus: USAGE.gpus });
  expect([await asked('wunknown'), await asked('wended')]).toEqual([null, null]);
  expect((await get('wbusy')).json()).not.toHaveProperty('usage');
  expect((await get('wbusy', rest.bob.key, '?include=USAGE')).statusCode).toBe(404);
});
