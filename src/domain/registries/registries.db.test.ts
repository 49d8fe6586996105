import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { RegistryId } from '../../core/ids.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import type { Actor } from '../access/actor.ts';
import { createUser } from '../access/users.ts';
import { change } from '../change.ts';
import { checkMasterKey } from '../secrets/check-master-key.ts';
import { createRegistry } from './change-registry.ts';
import { openCredentials } from './open-credentials.ts';

let database: TestDatabase;
let actor: Actor;
const secretBox = createSecretBox(randomBytes(32));
const otherBox = createSecretBox(randomBytes(32));
beforeAll(async () => {
  database = await createTestDatabase();
  const { id: userId } = await createUser(database.pool, { name: 'anna', email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());

const create = () => {
  const context = { pool: database.pool, bus: { publish: () => {} }, secretBox };
  return change(context, actor, createRegistry, { name: 'hub', username: 'anna', password: 'hunter2' });
};

test('any key is accepted for a database without secrets', async () => {
  await checkMasterKey(database.pool, otherBox);
  await checkMasterKey(database.pool, secretBox);
});

test('another master key is refused with advice, and nothing is changed', async () => {
  await create();
  const snapshot = async () => (await database.pool.query('select * from registries order by id')).rows;
  const before = await snapshot();
  await expect(checkMasterKey(database.pool, otherBox)).rejects.toThrow(
    /^the master key is not the one .* or set PODYARD_MASTER_KEY\. Nothing was changed\.$/,
  );
  await checkMasterKey(database.pool, secretBox);
  expect(await snapshot()).toEqual(before);
});

test('credentials open for their owner only', async () => {
  const { id } = await create();
  const context = { pool: database.pool, secretBox };
  expect(await openCredentials(context, actor.userId, id)).toEqual({ username: 'anna', password: 'hunter2' });
  await expect(openCredentials(context, 'other' as never, id)).rejects.toThrow(`the registry '${id}' was deleted`);
  await expect(openCredentials(context, actor.userId, 'x' as RegistryId)).rejects.toThrow(
    "the registry 'x' was deleted",
  );
  await expect(openCredentials({ ...context, secretBox: otherBox }, actor.userId, id)).rejects.toThrow('master key');
});

test('a user name is stored encrypted; one that an earlier version stored in clear text is when it is read', async () => {
  const { id } = await create();
  const stored = async () => (await database.pool.query('select * from registries where id = $1', [id])).rows[0];
  expect(JSON.stringify(await stored())).not.toContain('anna');
  await database.pool.query("update registries set username = 'anna', password = $2 where id = $1", [
    id,
    secretBox.seal('hunter2', id),
  ]);
  const context = { pool: database.pool, secretBox };
  for (let n = 0; n < 2; n++) {
    expect(await openCredentials(context, actor.userId, id)).toEqual({ username: 'anna', password: 'hunter2' });
    expect((await stored()).username).toBe('');
  }
});

test('a sealed password copied into another record does not open there', async () => {
  const [mine, other] = [await create(), await create()];
  await database.pool.query(
    'update registries set password = (select password from registries where id = $1) where id = $2',
    [mine.id, other.id],
  );
  const context = { pool: database.pool, secretBox };
  await expect(openCredentials(context, actor.userId, other.id)).rejects.toThrow('cannot be decrypted');
});
