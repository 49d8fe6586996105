import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { type EndpointId, newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { askForTrial } from '../../../domain/releases/trial-store.ts';
import { EndpointScaler } from './scale-endpoints.ts';

let database: TestDatabase;
let id: EndpointId;

beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('user', 'user')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql('delete from workers');
  await sql('delete from endpoints');
  id = newId<EndpointId>();
  await sql(
    `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, gpu_pools, gpu_count, workers_min,
       workers_max, scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
     values ($1, 'user', 'e', 'QUEUE_BASED', 'i', '', 1, '{}', '{}', '{ADA_24}', 1, 0, 5, 'QUEUE_DELAY', 4, 5, '{}', '{}', 0, 'OFF', 2)`,
    id,
  );
  for (const version of [1, 2])
    await sql(
      "insert into releases (id, endpoint_id, version, spec, diff) values ($1 || $2::int::text, $1, $2::int, '{}', '[]')",
      id,
      version,
    );
  await askForTrial(database.pool, { id, version: 2 }, null);
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const workers = () => sql('select version, phase from workers order by created_at, id');
const trial = async () => (await sql('select state from release_trials'))[0].state;

/** Another process leads for one run over everything. */
async function lead(pool = database.pool): Promise<void> {
  const scaler = new EndpointScaler({
    pool,
    bus: { publish: () => {}, subscribe: () => () => {} } as never,
    clock: { now: Date.now },
    monotonic: { now: () => performance.now() },
    logger: silentLogger,
    frozenBudget: async () => 0,
    onInserted: () => {},
  });
  await scaler.runOnce();
  await scaler.stop();
}

/** A leader that dies at the statement of this name, which the database never gets. */
const dyingAt = (name: string) =>
  new Proxy(database.pool, {
    get: (pool, member) =>
      member === 'query'
        ? (query: { name?: string }, ...more: never[]) =>
            query.name === name ? Promise.reject(new Error('killed')) : pool.query(query as never, ...more)
        : Reflect.get(pool, member, pool),
  });

test('each step may be done by another leader: none is lost, and none is done twice', async () => {
  await lead();
  await lead();
  expect(await workers()).toEqual([{ version: 2, phase: 'PENDING' }]);
  await sql("update workers set phase = 'RUNNING', ready_at = now()");
  await lead();
  await lead();
  expect(await trial()).toBe('PASSED');
  expect(await workers()).toHaveLength(1);
});

test('a leader that is killed before it has written the end of a trial is followed by one that writes it', async () => {
  await lead();
  await sql(
    "update workers set phase = 'EXITED', exited_at = now(), is_lost = true, phase_reason = 'it exited with code 1'",
  );
  await lead(dyingAt('trial-end')).catch(() => {});
  expect(await trial()).toBe('ASKED');
  expect(await workers()).toHaveLength(1);
  await lead();
  expect(await trial()).toBe('FAILED');
  await sql('update endpoints set workers_min = 1');
  await lead();
  expect((await workers()).map(({ version }) => version)).toEqual([2, 1]);
});

test('the end of a trial is not written over a newer release', async () => {
  await lead();
  await sql("update workers set phase = 'EXITED', exited_at = now(), is_lost = true");
  await sql("insert into releases (id, endpoint_id, version, spec, diff) values ('r3', $1, 3, '{}', '[]')", id);
  await sql('update endpoints set version = 3');
  await lead();
  expect(await trial()).toBe('ASKED');
  expect(await sql('select serving_version from endpoints')).toEqual([{ serving_version: null }]);
});
