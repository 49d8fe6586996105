import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { systemClock } from '../../core/clock.ts';
import { type KeyId, newId, type SessionId } from '../../core/ids.ts';
import { change } from '../change.ts';
import type { Context } from '../context.ts';
import { insertSession } from '../sessions/session-store.ts';
import { createApiKey, revokeApiKey } from './create-api-key.ts';
import { ensureFirstUser } from './ensure-first-user.ts';
import { findKeyBySecretHash, listKeys } from './key-store.ts';
import { hashSecret } from './secret-hash.ts';
import { createUser, listUsers } from './users.ts';

let database: TestDatabase;
let context: Context;
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 10 });
  context = { pool: database.pool, bus: { publish: () => {} } };
});
afterEach(() => database.drop());

const keyOf = (secret: string) => findKeyBySecretHash(database.pool, hashSecret(secret));

test('an empty database gets the user admin and a new key, which is returned once and stored nowhere', async () => {
  const first = await ensureFirstUser(context, null);
  expect(first.newSecret).toMatch(/^pyk_/);
  expect(await keyOf(first.newSecret!)).toMatchObject({
    userId: first.userId,
    scopes: [{ kind: 'all' }, { kind: 'exec' }, { kind: 'area', area: 'files', access: 'write' }],
  });
  expect((await listUsers(database.pool)).map((user) => user.name)).toEqual(['admin']);
  expect(await ensureFirstUser(context, null)).toEqual({ userId: first.userId, newSecret: null });
  const stored = await database.pool.query('select row_to_json(k)::text as text from api_keys k');
  expect(stored.rows).toHaveLength(1);
  expect(stored.rows[0].text).not.toContain(first.newSecret);
});

test('a key of before, without the scopes exec and files, does not gain them when it is given at a start', async () => {
  await ensureFirstUser(context, 'from-before');
  await database.pool.query(`update api_keys set scopes = '{all}' where secret_hash = $1`, [hashSecret('from-before')]);
  await ensureFirstUser(context, 'from-before');
  expect(await keyOf('from-before')).toMatchObject({ scopes: [{ kind: 'all' }] });
});

test('the first key may be given and is then not returned', async () => {
  expect((await ensureFirstUser(context, 'my-own-key')).newSecret).toBeNull();
  expect(await keyOf('my-own-key')).toMatchObject({
    scopes: [{ kind: 'all' }, { kind: 'exec' }, { kind: 'area', area: 'files', access: 'write' }],
    expiresAt: null,
  });
});

test('a key given later becomes valid, once, even if it was revoked', async () => {
  const userId = (await ensureFirstUser(context, null)).userId!;
  await ensureFirstUser(context, 'later');
  await database.pool.query('update api_keys set revoked_at = now()');
  await ensureFirstUser(context, 'later');
  await ensureFirstUser(context, 'later');
  expect(await keyOf('later')).toMatchObject({ userId });
  expect(await listKeys(database.pool, userId)).toHaveLength(1);
});

test('processes that start together on an empty database create one user and one key', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => ensureFirstUser(context, null)));
  expect(all.filter((one) => one.newSecret !== null)).toHaveLength(1);
  expect(new Set(all.map((one) => one.userId)).size).toBe(1);
});

test.each(['with blank', 'ünicode', '', 'x'.repeat(257)])(
  'key %j could not be sent in a header and is refused',
  async (key) => {
    await expect(ensureFirstUser(context, key)).rejects.toThrow('PODYARD_ADMIN_KEY');
  },
);

test('user names are unique', async () => {
  await createUser(database.pool, { name: 'ann', email: 'ann@example.test' });
  await expect(createUser(database.pool, { name: 'ann', email: null })).rejects.toMatchObject({ kind: 'conflict' });
  await expect(createUser(database.pool, { name: ' ', email: null })).rejects.toMatchObject({ kind: 'badRequest' });
});

test('a key without scopes or with a past expiry is refused', async () => {
  const { id: userId } = await createUser(database.pool, { name: 'ann', email: null });
  const input = { userId, name: 'k', scopes: [{ kind: 'all' } as const], expiresAt: null };
  await expect(
    change({ ...context, clock: systemClock }, null, createApiKey, { ...input, scopes: [] }),
  ).rejects.toMatchObject({
    kind: 'badRequest',
  });
  await expect(
    change({ ...context, clock: systemClock }, null, createApiKey, { ...input, expiresAt: new Date(0) }),
  ).rejects.toMatchObject({
    kind: 'badRequest',
  });
});

test('a key that was revoked after its request had begun creates no other one', async () => {
  const { id: userId } = await createUser(database.pool, { name: 'ann', email: null });
  const deps = { ...context, clock: systemClock };
  const input = { userId, name: 'k', scopes: [{ kind: 'all' } as const], expiresAt: null };
  const { key } = await change(deps, null, createApiKey, input);
  const actor = { userId, keyId: key.id, scopes: key.scopes };
  await change(deps, actor, createApiKey, input);
  await change(deps, null, revokeApiKey, { userId, keyId: key.id });
  await expect(change(deps, actor, createApiKey, input)).rejects.toMatchObject({ kind: 'unauthorized' });
  expect(await listKeys(database.pool, userId)).toHaveLength(1);
});

test('a session that ended after its request had begun creates no key', async () => {
  const { id: userId } = await createUser(database.pool, { name: 'ann', email: null });
  const deps = { ...context, clock: systemClock };
  const input = { userId, name: 'k', scopes: [{ kind: 'all' } as const], expiresAt: null };
  const sessionId = newId<SessionId>();
  await insertSession(database.pool, {
    ...{ id: sessionId, userId, secretHash: hashSecret('secret'), madeBy: 'PASSWORD', userAgent: null, address: null },
    lifetime: { idleMs: 3_600_000, maxMs: 3_600_000 },
  });
  const actor = { userId, keyId: '' as KeyId, sessionId, scopes: input.scopes };
  await change(deps, actor, createApiKey, input);
  await database.pool.query('update sessions set expires_at = now()');
  await expect(change(deps, actor, createApiKey, input)).rejects.toMatchObject({ kind: 'unauthorized' });
  expect(await listKeys(database.pool, userId)).toHaveLength(1);
});

test('a key creates none that lives longer than itself', async () => {
  const { id: userId } = await createUser(database.pool, { name: 'ann', email: null });
  const deps = { ...context, clock: systemClock };
  const expiresAt = new Date(Date.now() + 3_600_000);
  const input = { userId, name: 'k', scopes: [{ kind: 'all' } as const], expiresAt };
  const { key } = await change(deps, null, createApiKey, input);
  const actor = { userId, keyId: key.id, scopes: key.scopes };
  await change(deps, actor, createApiKey, input);
  for (const later of [new Date(expiresAt.getTime() + 1), null]) {
    const attempt = change(deps, actor, createApiKey, { ...input, expiresAt: later });
    await expect(attempt).rejects.toMatchObject({ kind: 'forbidden' });
  }
});
