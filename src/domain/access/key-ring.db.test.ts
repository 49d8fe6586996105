import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { systemClock } from '../../core/clock.ts';
import { type KeyId, newId, type UserId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import { change } from '../change.ts';
import { updateApiKey } from './change-api-key.ts';
import { createApiKey, revokeApiKey } from './create-api-key.ts';
import { KeyRing } from './key-ring.ts';
import { parseScope } from './scopes.ts';
import { createUser } from './users.ts';

let database: TestDatabase;
let bus: Bus;
let userId: UserId;
let nowMs: number;
let keyRing: KeyRing;
let queries: ReturnType<typeof vi.spyOn>;

beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: newId(8), logger: silentLogger });
  userId = (await createUser(database.pool, { name: 'u', email: null })).id;
});
beforeEach(() => {
  nowMs = Date.now();
  const clock = { now: () => nowMs };
  const trustedProxies = { has: (address: string) => address.startsWith('10.') };
  keyRing = new KeyRing({ pool: database.pool, bus, clock, monotonic: clock, trustedProxies });
  queries = vi.spyOn(database.pool, 'query');
});
afterEach(() => {
  keyRing.close();
  queries.mockRestore();
});
afterAll(async () => {
  await bus.stop();
  await database.drop();
});

async function newKey(expiresAt: Date | null = null) {
  const input = { userId, name: 'k', scopes: [parseScope('invoke')], expiresAt };
  const made = await change(
    { pool: database.pool, bus: { publish: () => {} }, clock: systemClock },
    null,
    createApiKey,
    input,
  );
  await database.pool.query('update api_keys set last_used_at = now()'); // so that its use is not written
  queries.mockClear();
  return made;
}

test('a key maps to an actor with its user and scopes', async () => {
  const { key, secret } = await newKey();
  expect(await keyRing.authenticate(secret)).toEqual({
    userId,
    keyId: key.id,
    scopes: [{ kind: 'invoke', endpointId: null }],
    restRevision: null,
  });
});

test('a session that a proxy vouched for is refused where none may vouch', async () => {
  const { secret } = await newKey();
  const actor = (await keyRing.authenticate(secret))!;
  const request = { headers: { 'x-forwarded-user': 'ann' }, socket: { remoteAddress: '10.0.0.1' } };
  expect(await keyRing.isVouched({ ...actor, voucher: 'ann' }, request)).toBe(false);
  expect(await keyRing.isVouched(actor, request)).toBe(true);
});

test('a known key is answered from the cache for ten seconds', async () => {
  const { secret } = await newKey();
  expect(keyRing.peek(secret)).toBeUndefined();
  const actor = await keyRing.authenticate(secret);
  expect(keyRing.peek(secret)).toBe(actor);
  nowMs += 9_999;
  expect(await keyRing.authenticate(secret)).toBe(actor);
  expect(queries).toHaveBeenCalledTimes(1);
  nowMs += 1;
  expect(keyRing.peek(secret)).toBeUndefined();
  expect(await keyRing.authenticate(secret)).toEqual(actor);
  expect(queries).toHaveBeenCalledTimes(2);
});

test('an unknown secret is looked up once in ten seconds', async () => {
  expect(await keyRing.authenticate('pyk_unknown')).toBeUndefined();
  expect(await keyRing.authenticate('pyk_unknown')).toBeUndefined();
  expect(queries).toHaveBeenCalledTimes(1);
  nowMs += 10_000;
  await keyRing.authenticate('pyk_unknown');
  expect(queries).toHaveBeenCalledTimes(2);
});

test('what is cached is looked up again after the clock was set back', async () => {
  const { secret } = await newKey(new Date(nowMs + 3_600_000));
  nowMs += 86_400_000;
  expect(await keyRing.authenticate(secret)).toBeUndefined();
  nowMs -= 86_400_000;
  expect(await keyRing.authenticate(secret)).toBeDefined();
  nowMs -= 86_400_000;
  expect(keyRing.peek(secret)).toBeUndefined();
  expect(await keyRing.authenticate(secret)).toBeDefined();
  expect(queries).toHaveBeenCalledTimes(3);
});

test('text that cannot be a key is refused without a query', async () => {
  expect(await keyRing.authenticate('')).toBeUndefined();
  expect(await keyRing.authenticate('x'.repeat(257))).toBeUndefined();
  expect(queries).not.toHaveBeenCalled();
});

test('calls for the same secret at the same time share one query', async () => {
  const { secret } = await newKey();
  const actors = await Promise.all(Array.from({ length: 50 }, () => keyRing.authenticate(secret)));
  expect(new Set(actors).size).toBe(1);
  expect(queries).toHaveBeenCalledTimes(1);
});

test('a revoked key is refused as soon as the hint arrives, however fresh its cache entry', async () => {
  const { key, secret } = await newKey();
  await keyRing.authenticate(secret);
  await change({ pool: database.pool, bus }, null, revokeApiKey, { userId, keyId: key.id });
  expect(keyRing.peek(secret)).toBeUndefined();
  expect(await keyRing.authenticate(secret)).toBeUndefined();
});

test('a revocation whose hint is lost takes effect after ten seconds', async () => {
  const { key, secret } = await newKey();
  await keyRing.authenticate(secret);
  await change({ pool: database.pool, bus: { publish: () => {} } }, null, revokeApiKey, { userId, keyId: key.id });
  expect(await keyRing.authenticate(secret)).toBeDefined();
  nowMs += 10_000;
  expect(await keyRing.authenticate(secret)).toBeUndefined();
});

test('a look-up overtaken by a hint is not cached', async () => {
  const { secret } = await newKey();
  const lookUp = keyRing.authenticate(secret);
  bus.publish('key', 'any');
  await lookUp;
  expect(keyRing.peek(secret)).toBeUndefined();
});

test('a new key is accepted at once, even if its secret was refused before', async () => {
  const { secret } = await newKey();
  await database.pool.query('update api_keys set revoked_at = now()');
  expect(await keyRing.authenticate(secret)).toBeUndefined();
  await database.pool.query('update api_keys set revoked_at = null');
  bus.publish('key', 'any');
  expect(await keyRing.authenticate(secret)).toBeDefined();
});

test('a key expires to the millisecond, even in the cache', async () => {
  const { secret } = await newKey(new Date(nowMs + 5_000));
  expect(await keyRing.authenticate(secret)).toBeDefined();
  nowMs += 4_999;
  expect(keyRing.peek(secret)).toBeDefined();
  nowMs += 1;
  expect(keyRing.peek(secret)).toBeUndefined();
  expect(await keyRing.authenticate(secret)).toBeUndefined();
});

test('a flood of wrong secrets does not evict a valid key', async () => {
  const { secret } = await newKey();
  await keyRing.authenticate(secret);
  queries.mockImplementation((async () => ({ rows: [] })) as never);
  for (let i = 0; i < 11_000; i++) await keyRing.authenticate(`wrong${i}`);
  expect(keyRing.peek(secret)).toBeDefined();
});

test('a failed look-up is not cached', async () => {
  const { secret } = await newKey();
  queries.mockRejectedValueOnce(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }) as never);
  await expect(keyRing.authenticate(secret)).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await keyRing.authenticate(secret)).toBeDefined();
});

/** Opens something with the key: `ended` counts the calls. */
function opened(keyId: KeyId): { ended: number; close: () => void } {
  const open = { ended: 0, close: () => {} };
  open.close = keyRing.onEnd({ userId, keyId }, () => {
    open.ended += 1;
  });
  return open;
}

test('what is open is notified once when its key is revoked, and what was closed never', async () => {
  const { key } = await newKey();
  const [open, closed, other] = [opened(key.id), opened(key.id), opened((await newKey()).key.id)];
  closed.close();
  await change({ pool: database.pool, bus }, null, revokeApiKey, { userId, keyId: key.id });
  await expect.poll(() => open.ended).toBe(1);
  bus.publish('key', key.id);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([open.ended, closed.ended, other.ended]).toEqual([1, 0, 0]);
  other.close();
});

test('what is open with a key ends when the key is disabled', async () => {
  const { key } = await newKey();
  const open = opened(key.id);
  const disabled = { userId, keyId: key.id, change: { isDisabled: true } };
  await change({ pool: database.pool, bus, clock: systemClock }, null, updateApiKey, disabled);
  await expect.poll(() => open.ended).toBe(1);
});

test('what a member of a team has open is told what ended: the membership, or the key', async () => {
  const { key } = await newKey();
  await database.pool.query(`insert into users (id, name, kind) values ('crew', 'crew', 'TEAM')`);
  await database.pool.query(`insert into team_members (team_id, user_id, role) values ('crew', $1, 'VIEWER')`, [
    userId,
  ]);
  const acting = { keyId: key.id, userId: 'crew' as UserId, personId: userId };
  const ends: string[] = [];
  const open = (actingRole: 'VIEWER' | 'OWNER') =>
    keyRing.onEnd({ ...acting, actingRole }, (end) => void ends.push(`${actingRole} ${end}`));
  open('VIEWER');
  open('OWNER'); // which they are not
  await expect.poll(() => ends).toEqual(['OWNER MEMBERSHIP']);
  await change({ pool: database.pool, bus }, null, revokeApiKey, { userId, keyId: key.id });
  await expect.poll(() => ends).toEqual(['OWNER MEMBERSHIP', 'VIEWER CREDENTIAL']);
  await database.pool.query(`delete from users where id = 'crew'`);
});

test('what a member of a team has open ends when the team is suspended', async () => {
  const { key } = await newKey();
  await database.pool.query(`insert into users (id, name, kind) values ('crew', 'crew', 'TEAM')`);
  await database.pool.query(`insert into team_members (team_id, user_id, role) values ('crew', $1, 'OWNER')`, [userId]);
  const ends: string[] = [];
  const acting = { keyId: key.id, userId: 'crew' as UserId, personId: userId, actingRole: 'OWNER' as const };
  keyRing.onEnd(acting, (end) => void ends.push(end));
  await database.pool.query(`update users set suspended_at = now(), suspended_workloads = 'KEEP' where id = 'crew'`);
  bus.publish('user', 'crew');
  await expect.poll(() => ends).toEqual(['MEMBERSHIP']);
  await database.pool.query(`delete from users where id = 'crew'`);
});

test('an object is watched again after its key has ended, and not after the end of its watch', async () => {
  const [first, second] = [await newKey(), await newKey()];
  const ended: KeyId[] = [];
  const request = { place: -1, keyId: first.key.id, onKeyEnd: () => void ended.push(request.keyId) };
  keyRing.watch({ userId, keyId: first.key.id }, request);
  const other = opened(second.key.id);
  await change({ pool: database.pool, bus }, null, revokeApiKey, { userId, keyId: first.key.id });
  await expect.poll(() => ended).toEqual([first.key.id]);
  request.keyId = second.key.id;
  keyRing.watch({ userId, keyId: second.key.id }, request);
  keyRing.unwatch({ userId, keyId: first.key.id }, request);
  keyRing.unwatch({ userId, keyId: second.key.id }, request);
  await change({ pool: database.pool, bus }, null, revokeApiKey, { userId, keyId: second.key.id });
  await expect.poll(() => other.ended).toBe(1);
  expect(ended).toEqual([first.key.id]);
});

test('a key that ended before it is watched, or whose hint is lost, is noticed within two seconds', async () => {
  const [before, after] = [await newKey(), await newKey()];
  const revoke = (keyId: KeyId) =>
    change({ pool: database.pool, bus: { publish: () => {} } }, null, revokeApiKey, { userId, keyId });
  await revoke(before.key.id);
  const open = [opened(before.key.id), opened(after.key.id)];
  await revoke(after.key.id);
  await expect.poll(() => open.map(({ ended }) => ended)).toEqual([1, 1]);
});

test('a known expiry ends a key while the database is unreachable, which ends no other key', async () => {
  const [expiring, lasting] = [await newKey(new Date(nowMs + 60_000)), await newKey()];
  const open = [opened(expiring.key.id), opened(lasting.key.id)];
  bus.publish('key', expiring.key.id);
  await expect.poll(() => queries).toHaveBeenCalled();
  await queries.mock.results[0]!.value;
  queries.mockRejectedValue(new Error('connect ECONNREFUSED') as never);
  nowMs += 60_000;
  await expect.poll(() => open[0]!.ended).toBe(1);
  expect(open[1]!.ended).toBe(0);
});

test('nothing is read while nothing is open', async () => {
  const { key } = await newKey();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    opened(key.id).close();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(vi.getTimerCount()).toBe(0);
    expect(queries).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});

describe('many unknown keys from one address', () => {
  const from = (remoteAddress: string, forwardedFor?: string) => ({ remoteAddress, forwardedFor });
  let guess = 0;
  /** Returns how many of `count` unknown keys were refused without a query. */
  async function refused(count: number, remoteAddress: string, forwardedFor?: string): Promise<number> {
    let refusals = 0;
    for (let i = 0; i < count; i++) {
      const answer = keyRing.authenticate(`pyk_guess${guess++}`, from(remoteAddress, forwardedFor));
      await answer.catch((error) => {
        expect(error).toMatchObject({ kind: 'tooManyRequests', retryAfterSeconds: 1 });
        refusals += 1;
      });
    }
    return refusals;
  }

  test('are looked up twenty times a second, then refused without a query', async () => {
    expect(await refused(50, '1.2.3.4')).toBe(30);
    expect(queries).toHaveBeenCalledTimes(20);
    nowMs += 1_000;
    expect(await refused(50, '1.2.3.4')).toBe(30);
  });

  test('refuse neither another address nor a key that was valid here, and a new key a second later', async () => {
    const [known, fresh] = [await newKey(), await newKey()];
    await keyRing.authenticate(known.secret, from('1.2.3.4'));
    await refused(50, '1.2.3.4');
    bus.publish('key', known.key.id); // drops it from the cache
    expect(await keyRing.authenticate(known.secret, from('1.2.3.4'))).toBeDefined();
    expect(await refused(20, '1.2.3.5')).toBe(0);
    await expect(keyRing.authenticate(fresh.secret, from('1.2.3.4'))).rejects.toMatchObject({
      kind: 'tooManyRequests',
    });
    nowMs += 1_000;
    expect(await keyRing.authenticate(fresh.secret, from('1.2.3.4'))).toBeDefined();
  });

  test('count for the address that a trusted proxy forwards, and for the proxy if it is not trusted', async () => {
    await refused(50, '10.0.0.1', '5.6.7.8');
    expect(await refused(20, '10.0.0.1', '5.6.7.9')).toBe(0);
    await refused(50, '9.0.0.1', '5.6.7.8');
    expect(await refused(1, '9.0.0.1', '5.6.7.9')).toBe(1);
  });

  test('count once if they are the same', async () => {
    for (let i = 0; i < 50; i++) {
      expect(await keyRing.authenticate('pyk_the-same', from('1.2.3.6'))).toBeUndefined();
    }
    expect(queries).toHaveBeenCalledTimes(1);
  });
});
