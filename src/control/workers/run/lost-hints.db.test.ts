import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { silentLogger } from '../../../core/logger.ts';
import { insertWorkers } from '../../../domain/workers/insert-workers.ts';
import { EndpointScaler } from '../scale/scale-endpoints.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('user', 'user')");
  await sql("insert into user_limits (user_id, name, value) values ('user', 'workers', null)");
});
afterAll(() => database.drop());

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

/** Adds endpoints as nothing in Podyard does: without a hint. */
async function addEndpoints(count: number): Promise<void> {
  await sql(
    `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, gpu_pools, gpu_count, workers_min,
       workers_max, scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
     select 'e' || n, 'user', 'e', 'QUEUE_BASED', 'i', '', 1, '{}', '{}', '{ADA_24}', 1, 1, 5, 'QUEUE_DELAY', 4, 5,
       '{}', '{}', 0, 'OFF', 1 from generate_series(1, $1::int) n`,
    count,
  );
  await sql("insert into releases (id, endpoint_id, version, spec, diff) select id, id, 1, '{}', '[]' from endpoints");
}

test('a sweep ends after a while, but continues while it finds endpoints that lack workers: then many hints were lost', async () => {
  await addEndpoints(1_100);
  const scaler = new EndpointScaler({
    pool: database.pool,
    demandPool: database.pool,
    bus: { publish: () => {}, subscribe: () => () => {} } as never,
    clock: { now: () => 1_700_000_000_000 },
    monotonic: { now: () => 1_000_000 }, // time does not pass, so there is one tick
    logger: silentLogger,
    frozenBudget: async () => 0,
    insert: async (worker) => (await insertWorkers(database.pool, [worker])).length === 1,
  });
  for (let i = 0; i < 30; i++) await scaler.runOnce();
  expect(await sql('select count(distinct endpoint_id)::int as count from workers')).toEqual([{ count: 1_100 }]);
  await sql('delete from workers');
  for (let i = 0; i < 30; i++) await scaler.runOnce();
  expect(await sql('select from workers')).toEqual([]);
});

test('without active endpoints the sweep pauses for half a minute, and a gap in the hints ends the pause', async () => {
  await sql('delete from workers');
  await sql('delete from endpoints');
  let nowMs = 1_000_000;
  let onGap = () => {};
  const keepListener = (listener: () => void) => {
    onGap = listener;
    return () => {};
  };
  const scaler = new EndpointScaler({
    pool: database.pool,
    demandPool: database.pool,
    bus: {
      publish: () => {},
      subscribe: () => () => {},
      onGap: keepListener,
    } as never,
    clock: { now: () => 1_700_000_000_000 },
    monotonic: { now: () => nowMs },
    logger: silentLogger,
    frozenBudget: async () => 0,
    insert: async (worker) => (await insertWorkers(database.pool, [worker])).length === 1,
  });
  const count = async () => (await sql('select count(*)::int as count from workers'))[0].count;
  const countAt = async (atMs: number) => {
    nowMs = 1_000_000 + atMs;
    await scaler.runOnce();
    return count();
  };
  await countAt(0);
  await sql('delete from releases');
  await addEndpoints(1);
  expect([await countAt(5_000), await countAt(29_000), await countAt(30_000)]).toEqual([0, 0, 1]);
  await sql('delete from workers');
  expect(await countAt(35_000)).toBe(1); // it is active: back to five seconds
  await sql('delete from workers');
  await sql('delete from endpoints');
  await sql('delete from releases');
  for (const atMs of [40_000, 45_000]) await countAt(atMs);
  await addEndpoints(1);
  expect(await countAt(60_000)).toBe(0);
  scaler.start();
  onGap();
  await expect.poll(count).toBe(1); // the loop runs by itself now
  await scaler.stop();
});

test('an endpoint that a hint names waits for no resync, which leaves it alone meanwhile, and a start is announced before it is read', async () => {
  await sql('delete from workers');
  await sql('delete from endpoints');
  await sql('delete from releases');
  await addEndpoints(10);
  const listeners = new Map<string, (id: string) => void>();
  const inserted: string[] = [];
  let announced = 0;
  const [listing, listed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const demandPool = {
    query: async (query: { name?: string }) => {
      if (query.name === 'endpoints-active') {
        listing.resolve();
        await listed.promise;
      }
      return database.pool.query(query as never);
    },
  };
  const scaler = new EndpointScaler({
    pool: database.pool,
    demandPool: demandPool as never,
    bus: {
      publish: () => {},
      subscribe: (topic: string, listener: (id: string) => void) => {
        listeners.set(topic, listener);
        return () => {};
      },
      onGap: () => () => {},
    } as never,
    clock: { now: () => 1_700_000_000_000 },
    logger: silentLogger,
    frozenBudget: async () => 0,
    onStarting: () => {
      announced += 1;
    },
    insert: async ({ endpointId }) => {
      inserted.push(endpointId);
      if (inserted.length === 1) await all.promise; // e9 is being written while the resync looks at it
      return true;
    },
  });
  const all = Promise.withResolvers<void>();
  scaler.start();
  await listing.promise;
  listeners.get('demand')?.('e9');
  expect(announced).toBe(1);
  await expect.poll(() => inserted).toEqual(['e9']);
  listed.resolve();
  await expect.poll(() => inserted.length).toBe(10);
  all.resolve();
  await scaler.stop();
  expect(new Set(inserted).size).toBe(10);
});
