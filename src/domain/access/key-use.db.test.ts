import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { systemClock } from '../../core/clock.ts';
import type { KeyId, UserId } from '../../core/ids.ts';
import { change } from '../change.ts';
import type { Actor } from './actor.ts';
import { createApiKey } from './create-api-key.ts';
import { KeyRing } from './key-ring.ts';
import { listKeys } from './key-store.ts';
import { createUser } from './users.ts';

let database: TestDatabase;
let userId: UserId;
let nowMs = Date.now();
const bus = { publish: () => {}, subscribe: () => () => {} };
beforeAll(async () => {
  database = await createTestDatabase();
  userId = (await createUser(database.pool, { name: 'alice', email: null })).id;
});
afterAll(() => database.drop());

const newRing = () => new KeyRing({ pool: database.pool, bus, clock: { now: () => nowMs } });
const newKey = (name: string, maker?: Actor) =>
  change({ pool: database.pool, bus, clock: systemClock }, maker ?? null, createApiKey, {
    userId,
    name,
    scopes: [{ kind: 'all' }],
    expiresAt: null,
  });
const read = async (id: KeyId) => (await listKeys(database.pool, userId)).find((key) => key.id === id)!;
const writtenTimes = (spy: { mock: { calls: unknown[][] } }) =>
  spy.mock.calls.filter(([query]) => (query as { name?: string }).name === 'keys-used').length;

test('the use of a key is written once a minute at most, however often and by however many processes it is used', async () => {
  const { key, secret } = await newKey('busy');
  expect((await read(key.id)).lastUsedAt).toBeNull();
  const queries = vi.spyOn(database.pool, 'query');
  const rings = [newRing(), newRing()];
  const useInAll = async () => {
    for (let i = 0; i < 50; i++) for (const ring of rings) await ring.authenticate(secret);
  };
  await useInAll();
  await expect.poll(async () => (await read(key.id)).lastUsedAt).not.toBeNull();
  const first = (await read(key.id)).lastUsedAt;
  const before = writtenTimes(queries);
  expect(before).toBeLessThanOrEqual(2); // one for each process
  nowMs += 10_000; // the cached entries expire, and the keys are looked up again
  await useInAll();
  expect(writtenTimes(queries)).toBe(before);
  expect((await read(key.id)).lastUsedAt).toEqual(first);
  await database.pool.query("update api_keys set last_used_at = now() - interval '61 seconds'");
  nowMs += 10_000;
  await useInAll();
  await expect.poll(async () => (await read(key.id)).lastUsedAt!.getTime()).toBeGreaterThanOrEqual(first!.getTime());
  queries.mockRestore();
  for (const ring of rings) ring.close();
});

test('a key is answered although its use cannot be written', async () => {
  const { secret } = await newKey('quiet');
  const original = database.pool.query.bind(database.pool) as (...args: unknown[]) => unknown;
  const queries = vi
    .spyOn(database.pool, 'query')
    .mockImplementation(((...args: unknown[]) =>
      (args[0] as { name?: string }).name === 'keys-used'
        ? Promise.reject(new Error('read-only'))
        : original(...args)) as never);
  const ring = newRing();
  expect(await ring.authenticate(secret)).toMatchObject({ userId });
  await expect.poll(() => writtenTimes(queries)).toBe(1);
  queries.mockRestore();
  ring.close();
});

test('a key names the user and the key that made it, also after that key is gone; tools make keys without a maker', async () => {
  const first = await newKey('first');
  const maker: Actor = { userId, keyId: first.key.id, scopes: [{ kind: 'all' }] };
  const { key } = await newKey('second', maker);
  expect(key.createdBy).toEqual({ userId, keyId: first.key.id, userName: 'alice', keyName: 'first' });
  expect(first.key.createdBy).toBeNull();
  await database.pool.query('delete from api_keys where id = $1', [first.key.id]);
  expect((await read(key.id)).createdBy).toEqual({ userId, keyId: first.key.id, userName: 'alice', keyName: null });
});
