import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { createSecretBox, masterKeyId } from '../../core/secret-box.ts';
import { rotateMasterKey } from '../secrets/rotate-master-key.ts';
import { openHubAccess } from './hub-access.ts';

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

test('tokens outlive a rotation of the master key', async () => {
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const token = (await openHubAccess(database.pool, createSecretBox(old))).tokenOf('w1');
  await rotateMasterKey(database.pool, createSecretBox([fresh, old]), masterKeyId(fresh));
  expect((await openHubAccess(database.pool, createSecretBox(fresh))).idOf(token)).toBe('w1');
  await database.pool.query('update master_key set key_id = null');
});
