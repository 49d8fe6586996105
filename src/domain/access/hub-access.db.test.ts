import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { createSecretBox, masterKeyId } from '../../core/secret-box.ts';
import { rotateMasterKey } from '../secrets/rotate-master-key.ts';
import { findHubWorkload, openHubAccess } from './hub-access.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query('delete from sealed_settings'));

const box = createSecretBox(randomBytes(32));

test('processes that start at once get one key, which the database does not tell', async () => {
  const opened = await Promise.all(Array.from({ length: 8 }, () => openHubAccess(database.pool, box)));
  expect(new Set(opened.map((access) => access.tokenOf('w1'))).size).toBe(1);
  const { rows } = await database.pool.query<{ value: Buffer }>('select value from sealed_settings');
  const key = box.open(rows[0]!.value, 'hub-key');
  expect(rows).toHaveLength(1);
  expect(rows[0]!.value.includes(key)).toBe(false);
});

test('the plain key of a version before is sealed, and its tokens go on', async () => {
  const key = randomBytes(32).toString('hex');
  await database.pool.query(`insert into settings (key, value) values ('hub-key', $1)`, [JSON.stringify(key)]);
  await openHubAccess(database.pool, box);
  const { rows } = await database.pool.query<{ value: Buffer }>('select value from sealed_settings');
  expect(box.open(rows[0]!.value, 'hub-key')).toBe(key);
  expect((await database.pool.query(`select from settings where key = 'hub-key'`)).rows).toEqual([]);
});

test('only a workload that is there, or wanted, may ask', async () => {
  await database.pool.query(`insert into users (id, name) values ('ann', 'ann')`);
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, gpu_count)
     values ('w1', 'e1', 'ann', 1, '', 'RUNNING', '{}', 0), ('w2', 'e1', 'ann', 1, '', 'EXITED', '{}', 0)`,
  );
  await database.pool.query(
    `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, cpu, cloud, data_center_ids, has_global_network, wanted, data_center_id)
     select id, 'ann', '', 'i', '', 20, '{}', '{}', '{}', 'SECURE', '{}', false, wanted, 'LOCAL-1'
     from (values ('p1', 'RUN'), ('p2', 'STOP')) as pod (id, wanted)`,
  );
  const found = await Promise.all(['w1', 'w2', 'p1', 'p2'].map((id) => findHubWorkload(database.pool, id)));
  expect(found).toEqual([{ userId: 'ann' }, undefined, { userId: 'ann' }, undefined]);
});

test('tokens outlive a rotation of the master key', async () => {
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const token = (await openHubAccess(database.pool, createSecretBox(old))).tokenOf('w1');
  await rotateMasterKey(database.pool, createSecretBox([fresh, old]), masterKeyId(fresh));
  expect((await openHubAccess(database.pool, createSecretBox(fresh))).idOf(token)).toBe('w1');
  await database.pool.query('update master_key set key_id = null');
});
