import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { insertEndpoint } from '../../../../test/insert-endpoint.ts';
import { type EndpointId, newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { Bus } from '../../../db/bus.ts';
import { askForTrial } from '../../../domain/releases/trial-store.ts';
import { insertWorkers } from '../../../domain/workers/insert-workers.ts';
import { EndpointScaler } from './scale-endpoints.ts';

let database: TestDatabase;
let bus: Bus;
let id: EndpointId;
let scaler: EndpointScaler;

beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'test', logger: silentLogger });
  await sql("insert into users (id, name) values ('user', 'user')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  id = newId<EndpointId>();
  await insertEndpoint(database.pool, { id, user_id: 'user', workers_min: 1 });
  await sql("insert into releases (id, endpoint_id, version, spec, diff) values ($1, $1, 1, '{}', '[]')", id);
  await askForTrial(database.pool, { id, version: 1 }, null);
  const { pool } = database;
  scaler = new EndpointScaler({
    pool,
    demandPool: pool,
    bus,
    clock: { now: Date.now },
    monotonic: { now: () => 1_000_000 }, // the interval between two polls never ends
    logger: silentLogger,
    frozenBudget: async () => 0,
    insert: async (worker) => (await insertWorkers(pool, [worker])).length === 1,
  });
  scaler.start();
});
afterEach(() => scaler.stop());

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const trial = async () => (await sql('select state from release_trials where endpoint_id = $1', id))[0].state;

test('a trial passes as soon as its worker is ready, whenever the endpoint was polled last', async () => {
  bus.publish('endpoint', id);
  await expect.poll(() => sql('select phase from workers where endpoint_id = $1', id)).toHaveLength(1);
  await sql("update workers set phase = 'RUNNING', ready_at = now() where endpoint_id = $1", id);
  bus.publish('ready', id);
  await expect.poll(trial).toBe('PASSED');
});
