import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newId, type UserId } from '../../core/ids.ts';
import { createUser } from '../access/users.ts';
import { readLimits, readLimitsOf, readSetLimits, writeLimits } from './limit-store.ts';
import { LIMITS } from './limits.ts';

let database: TestDatabase;
let alice: UserId;
let bob: UserId;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query('delete from user_limits');
  alice = (await createUser(database.pool, { name: newId(), email: null })).id;
  bob = (await createUser(database.pool, { name: newId(), email: null })).id;
});

test('a user has their own limits, then the installation’s, then the built-in ones', async () => {
  const { pool } = database;
  await writeLimits(pool, null, { workers: 20, gpus: 8, endpoints: null });
  await writeLimits(pool, alice, { workers: 5, gpuQuota: 2 });
  const limits = await readLimits(pool, [alice, bob]);
  expect(limits.get(alice)).toMatchObject({ workers: 5, gpus: 8, endpoints: null, gpuQuota: 2 });
  expect(limits.get(bob)).toMatchObject({ workers: 20, gpus: 8, endpoints: null, gpuQuota: null });
  expect(limits.get(bob)!.pods).toBe(LIMITS.pods.builtIn);
});

test('a value is replaced, unlimited is a value, and `DEFAULT` inherits again', async () => {
  const { pool } = database;
  await writeLimits(pool, alice, { workers: 5, pods: 1 });
  await writeLimits(pool, alice, { workers: null });
  expect((await readSetLimits(pool, [alice, bob])).users).toEqual(new Map([[alice, { workers: null, pods: 1 }]]));
  await writeLimits(pool, alice, { workers: 'DEFAULT', pods: 'DEFAULT' });
  expect((await readLimitsOf(pool, alice)).workers).toBe(1_000);
  expect((await readSetLimits(pool, [alice])).users.size).toBe(0);
});

test('a limit that only a newer version knows is ignored', async () => {
  const { pool } = database;
  await pool.query("insert into user_limits (user_id, name, value) values (null, 'moons', 1)");
  expect((await readSetLimits(pool, [])).installation).toEqual({});
});
