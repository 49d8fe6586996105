import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Actor } from '../access/actor.ts';
import { change } from '../change.ts';
import { type EndpointUpdate, updateEndpoint } from './update-endpoint.ts';

const ID = 'e' as EndpointId;
const ACTOR = { userId: 'ann', keyId: 'k', scopes: [{ kind: 'all' }] } as unknown as Actor;
const bus = { publish: () => {} } as never;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('ann', 'ann')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query('delete from endpoints');
  await database.pool.query(
    `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, gpu_pools, gpu_count, workers_min,
       workers_max, scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
     values ('e', 'ann', 'e', 'QUEUE_BASED', 'any:v1', '', 1, '{}', '{}', '{ADA_24}', 1, 0, 3, 'QUEUE_DELAY', 4, 5, '{}', '{}', 0, 'OFF', 1)`,
  );
});

const update = (wanted: EndpointUpdate) =>
  change({ pool: database.pool, bus }, ACTOR, updateEndpoint, { id: ID, update: wanted });

test('of changes that meet, each applies to what the others have left', async () => {
  const grow: EndpointUpdate = (before) => ({ workers: { max: before.workers.max + 1 } });
  const release: EndpointUpdate = (before) => ({ image: `${before.image}x`, timeoutMs: before.timeoutMs + 1 });
  await Promise.all(Array.from({ length: 30 }, (_, i) => update(i % 3 === 0 ? release : grow)));
  const { rows } = await database.pool.query('select workers_max, timeout_ms, image, version from endpoints');
  expect(rows).toEqual([{ workers_max: 23, timeout_ms: 10, image: `any:v1${'x'.repeat(10)}`, version: 11 }]);
});

test('a change waits for a transaction that holds the endpoint, and then applies to what it wrote', async () => {
  const holder = await database.pool.connect();
  await holder.query("begin; update endpoints set workers_min = 2 where id = 'e'");
  const changing = update({ workers: { max: 9 } });
  await expect
    .poll(
      async () => (await database.pool.query("select from pg_stat_activity where wait_event_type = 'Lock'")).rowCount,
    )
    .toBeGreaterThan(0);
  await holder.query('commit');
  holder.release();
  expect((await changing).workers).toEqual({ min: 2, max: 9 });
});
