import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { insertEndpoint } from '../../../../test/insert-endpoint.ts';
import { type EndpointId, newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { upsertFloorSchedule } from '../../../domain/scheduled-floors/floor-store.ts';
import type { ScheduledFloor } from '../../../domain/scheduled-floors/scheduled-floors.ts';
import { insertWorkers } from '../../../domain/workers/insert-workers.ts';
import { listGpuHolders } from '../../../domain/workers/placement-facts.ts';
import { EndpointScaler } from './scale-endpoints.ts';

const DAYS: ScheduledFloor['days'] = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const FLOOR: ScheduledFloor = { days: DAYS, from: '08:00', until: '18:00', workersMin: 3 };

let database: TestDatabase;
let endpointId: EndpointId;
let scaler: EndpointScaler;
/** A later day than the database's, so that workers and decisions of the scaler are the newest. */
let now: number;
let monotonicNow: number;

beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('user', 'user')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql('delete from workers');
  await sql('delete from endpoints');
  endpointId = newId<EndpointId>();
  await insertEndpoint(database.pool, { id: endpointId, user_id: 'user', workers_max: 5 });
  await sql("insert into releases (id, endpoint_id, version, spec, diff) values ($1, $1, 1, '{}', '[]')", endpointId);
  now = Date.parse('2026-01-05T07:59:58Z');
  monotonicNow = 1_000_000;
  scaler = new EndpointScaler({
    pool: database.pool,
    demandPool: database.pool,
    bus: { publish: () => {}, subscribe: () => () => {} } as never,
    clock: { now: () => now },
    monotonic: { now: () => monotonicNow },
    logger: silentLogger,
    frozenBudget: async () => 0,
    insert: async (worker) => (await insertWorkers(database.pool, [worker])).length === 1,
  });
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const workers = () => sql("select wanted, wanted_reason as reason from workers where wanted = 'RUN'");
const run = (time: string) => {
  const passed = Date.parse(time) - now;
  now += passed;
  monotonicNow += passed;
  return scaler.runOnce();
};

test('workers start at the moment at which a floor begins, and the decision says until when it lasts', async () => {
  await upsertFloorSchedule(database.pool, endpointId, { timeZone: 'UTC', floors: [FLOOR] });
  await run('2026-01-05T07:59:58Z'); // sweeps
  expect(await workers()).toEqual([]);
  await run('2026-01-05T07:59:59.900Z');
  expect(await workers()).toEqual([]);
  await run('2026-01-05T08:00:00Z'); // before the next sweep
  expect(await workers()).toHaveLength(3);
  const [decision] = await sql(
    'select wanted, reason, actions from scaling_decisions where endpoint_id = $1',
    endpointId,
  );
  expect(decision).toMatchObject({ wanted: 3, reason: 'scheduled floor of 3 until 18:00 UTC' });
  expect(decision.actions[0]).toMatchObject({ kind: 'start', cause: 'SCHEDULE' });
});

test('the larger of workers.min and the floor counts, and workers.max above both', async () => {
  await upsertFloorSchedule(database.pool, endpointId, { timeZone: 'UTC', floors: [FLOOR] });
  await sql('update endpoints set workers_min = 4');
  await run('2026-01-05T09:00:00Z');
  expect(await workers()).toEqual(Array(4).fill({ wanted: 'RUN', reason: 'workers.min keeps 4' }));
  await sql('delete from workers');
  await sql('update endpoints set workers_min = 1, workers_max = 2');
  await run('2026-01-05T09:01:00Z');
  expect(await workers()).toEqual(Array(2).fill({ wanted: 'RUN', reason: 'scheduled floor of 2 until 18:00 UTC' }));
  await sql('delete from workers');
  await sql('update endpoints set workers_min = 0, workers_max = 0');
  await run('2026-01-05T09:02:00Z');
  expect(await workers()).toEqual([]);
});

test('a schedule that is replaced or deleted counts from the next look', async () => {
  await upsertFloorSchedule(database.pool, endpointId, { timeZone: 'UTC', floors: [FLOOR] });
  await run('2026-01-05T09:00:00Z');
  expect(await workers()).toHaveLength(3);
  await upsertFloorSchedule(database.pool, endpointId, { timeZone: 'UTC', floors: [{ ...FLOOR, workersMin: 5 }] });
  await run('2026-01-05T09:00:06Z');
  expect(await workers()).toHaveLength(5);
});

test('workers of a scheduled floor are protected from preemption like those of workers.min', async () => {
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_pool, data_center_id, gpu_count)
     values ('w1', $1, 'user', 1, '', '{}', 'RUNNING', 'ADA_24', 'X', 1)`,
    endpointId,
  );
  const minAt = async (time: string) => (await listGpuHolders(database.pool, [], Date.parse(time)))[0]!.min;
  expect(await minAt('2026-01-05T09:00:00Z')).toBe(0);
  await upsertFloorSchedule(database.pool, endpointId, { timeZone: 'UTC', floors: [{ ...FLOOR, workersMin: 9 }] });
  expect(await minAt('2026-01-05T07:00:00Z')).toBe(0);
  expect(await minAt('2026-01-05T09:00:00Z')).toBe(5); // workers.max
});
