import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import { listEndpointFacts } from './endpoint-facts.ts';
import { getEndpointState, listEndpointStates } from './list-endpoint-states.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('ann', 'ann'), ('bob', 'bob')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query(
    'delete from workers; delete from worker_activity; delete from endpoint_counters; delete from scaling_decisions',
  );
  await database.pool.query('delete from endpoints');
  await endpoint('e');
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values);
const endpoint = (id: string, user = 'ann') => insertEndpoint(database.pool, { id, user_id: user, version: 2 });

let workers = 0;
async function worker(columns: Record<string, unknown>): Promise<string> {
  const values = {
    id: `w${++workers}`,
    endpoint_id: 'e',
    user_id: 'ann',
    version: 2,
    wanted_reason: '',
    spec: '{}',
    phase: 'RUNNING',
    ...columns,
  };
  const names = Object.keys(values);
  await sql(
    `insert into workers (${names.join()}) values (${names.map((_, i) => `$${i + 1}`).join()})`,
    ...Object.values(values),
  );
  return values.id;
}
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
const lost = (seconds: number, more: object = {}) =>
  worker({
    phase: 'EXITED',
    is_lost: true,
    exited_at: ago(seconds),
    phase_reason: `it exited with code ${seconds}`,
    ...more,
  });
const facts = async (id = 'e') =>
  (await listEndpointFacts(database.pool, { ids: [id as EndpointId] })).get(id as never)!;
const state = (id = 'e') => getEndpointState(database.pool, 'ann' as UserId, id as EndpointId, Date.now());

test('workers are counted by condition, those that leave not at all', async () => {
  await worker({ ready_at: ago(5) });
  await worker({ ready_at: ago(5), version: 1 });
  await worker({ ready_at: ago(5), wanted: 'DRAIN' });
  await worker({ ready_at: ago(5), wanted: 'FREEZE', phase: 'FROZEN' });
  await worker({ phase: 'STARTING', created_at: ago(9) });
  await worker({ phase: 'PENDING', phase_reason: 'no capacity: none free', created_at: ago(7) });
  await worker({ phase: 'PENDING', phase_reason: 'secret x is missing', is_lost: true });
  const ill = await worker({ ready_at: ago(5) });
  await sql("insert into worker_activity (worker_id, seen_at, unhealthy_reason) values ($1, now(), 'GPU gone')", ill);
  await worker({ endpoint_type: 'LOAD_BALANCING', ready_at: ago(5), phase_reason: 'refused' });
  await worker({ endpoint_type: 'LOAD_BALANCING', ready_at: ago(5), serving_at: ago(4) });
  expect(await facts()).toMatchObject({
    workers: { ready: 3, starting: 1, throttled: 1, unhealthy: 3, outdated: 1, frozen: 1 },
    throttledReason: 'no capacity: none free',
    throttledSince: expect.any(Date),
    startingSince: expect.any(Date),
    losses: null,
  });
});

test('work is what waits and runs, without low priority', async () => {
  await sql(
    "insert into endpoint_counters (endpoint_id, lane, queued, queued_low, in_progress) values ('e', 'a/1', 3, 9, 1), ('e', 'b/1', -1, 0, 1)",
  );
  expect(await facts()).toMatchObject({ waiting: 2, running: 2 });
});

test('an endpoint that fails to start says since when and why, whatever failed before a worker was ready', async () => {
  await lost(900);
  await worker({ phase: 'EXITED', ready_at: ago(800), exited_at: ago(700), phase_reason: 'idle' });
  await lost(600, { version: 1 });
  const first = await lost(500);
  await lost(400, { ready_at: null });
  await lost(300);
  const { rows } = await sql('select exited_at as at from workers where id = $1', first);
  expect(await state()).toEqual({
    state: 'FAILING',
    since: rows[0].at,
    reason: 'the last 3 starts failed: it exited with code 300',
    warnings: [],
  });
});

test('a live worker that became ready, a new release, or a worker that ended well ends a failure', async () => {
  await lost(500);
  const ready = await worker({ ready_at: ago(100) });
  expect((await state()).state).toBe('HEALTHY');
  await sql('delete from workers where id = $1', ready);
  expect((await state()).state).toBe('FAILING');
  await sql("update endpoints set version = 3 where id = 'e'");
  expect((await state()).state).toBe('SCALED_TO_ZERO');
  await sql("update endpoints set version = 2 where id = 'e'");
  await worker({ phase: 'EXITED', ready_at: ago(90), exited_at: ago(80), phase_reason: 'idle' });
  expect((await state()).state).toBe('SCALED_TO_ZERO');
});

test('work without a worker waits for capacity when the last decision says that a limit of the user allows none', async () => {
  const decide = (inputs: object, reason: string) =>
    sql(
      "insert into scaling_decisions (endpoint_id, at, wanted, reason, inputs, actions) values ('e', now(), 0, $1, $2, '[]')",
      reason,
      inputs,
    );
  await decide({ userCut: { name: 'workers' } }, 'your account has 4 of 4 workers');
  await decide({}, 'it exited with code 1');
  expect((await state()).state).toBe('SCALED_TO_ZERO');
  await sql("insert into endpoint_counters (endpoint_id, lane, queued) values ('e', 'a/1', 1)");
  expect(await state()).toMatchObject({ state: 'WAITING_FOR_CAPACITY', reason: 'your account has 4 of 4 workers' });
  await decide({ queued: 1 }, 'a job waits and there is no worker');
  expect((await state()).state).toBe('STARTING');
});

test('workers that are ready and lost three times in a row are a failure', async () => {
  for (const seconds of [30, 20, 10]) await lost(seconds, { ready_at: ago(seconds + 5) });
  await worker({ ready_at: ago(1) });
  expect(await state()).toMatchObject({
    state: 'FAILING',
    reason: 'the last 3 workers ended unexpectedly: it exited with code 10',
  });
});

test('of a user, and of the whole installation, the states are the same as one by one', async () => {
  await endpoint('of-bob', 'bob');
  await endpoint('stopped');
  await sql("update endpoints set workers_max = 0 where id = 'stopped'");
  await lost(10);
  await sql(
    "insert into endpoint_counters (endpoint_id, lane, queued) values ('of-bob', 'a/1', 1), ('stopped', 'a/1', 1)",
  );
  const names = async (of: Parameters<typeof listEndpointStates>[1]) =>
    Object.fromEntries(
      [...(await listEndpointStates(database.pool, of, Date.now()))].map(([id, one]) => [id, one.state]),
    );
  expect(await names({ userId: 'ann' as UserId })).toEqual({ e: 'FAILING', stopped: 'PAUSED' });
  expect(await names('all')).toEqual({ e: 'FAILING', stopped: 'PAUSED', 'of-bob': 'STARTING' });
  await expect(getEndpointState(database.pool, 'ann' as UserId, 'of-bob' as EndpointId, 0)).rejects.toThrow(
    /not found/,
  );
});

test('the states of ten thousand endpoints are one statement', async () => {
  await sql(
    `insert into endpoints select (jsonb_populate_record(e, jsonb_build_object('id', 'many' || n, 'name', 'many' || n))).*
     from endpoints e, generate_series(1, 10000) n where e.id = 'e'`,
  );
  await sql(`insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, ready_at, is_lost, exited_at, phase_reason)
    select 'm' || n, 'many' || (n % 10000 + 1), 'ann', 2, '', '{}', case when n % 3 = 0 then 'RUNNING' else 'EXITED' end,
           case when n % 3 < 2 then now() end, n % 3 = 2, case when n % 3 > 0 then now() - n * interval '1 second' end, 'why'
    from generate_series(1, 40000) n`);
  await sql('analyze endpoints; analyze workers');
  const queries = vi.spyOn(database.pool, 'query');
  const states = await listEndpointStates(database.pool, { userId: 'ann' as UserId }, Date.now());
  expect(queries).toHaveBeenCalledTimes(1);
  queries.mockRestore();
  expect(states.size).toBe(10_001);
});
