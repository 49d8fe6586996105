import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { systemClock } from '../../core/clock.ts';
import { newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import type { Actor } from '../access/actor.ts';
import { checkOperator } from '../access/check-operator.ts';
import { createApiKey } from '../access/create-api-key.ts';
import { KeyRing } from '../access/key-ring.ts';
import type { Role } from '../access/roles.ts';
import { createUser, findUser, type User } from '../access/users.ts';
import { change } from '../change.ts';
import { resumeUser, suspendUser, updateUser } from './change-user.ts';

let database: TestDatabase;
let bus: Bus;
let other: Bus;
beforeAll(async () => {
  database = await createTestDatabase();
  const newBus = () =>
    new Bus({ pool: database.pool, databaseUrl: database.url, processId: newId(8), logger: silentLogger });
  [bus, other] = [newBus(), newBus()];
  await bus.start();
  await other.start();
});
afterAll(async () => {
  await bus.stop();
  await other.stop();
  await database.drop();
});
beforeEach(() => database.pool.query('delete from users'));

const context = () => ({ pool: database.pool, bus, clock: systemClock });
const KEEP = { workloads: 'KEEP' as const, reason: 'unpaid' };

async function person(name: string, role: Role = 'USER'): Promise<User & { actor: Actor; secret: string }> {
  const user = await createUser(database.pool, { name, email: null, role });
  const input = { userId: user.id, name: 'k', scopes: [{ kind: 'all' as const }], expiresAt: null };
  const { key, secret } = await change(context(), null, createApiKey, input);
  return { ...user, secret, actor: { userId: user.id, keyId: key.id, scopes: key.scopes } };
}

/** Resolves once the other process has heard of all that was published before. */
function heardByOther(): Promise<void> {
  const marker = newId(8);
  return new Promise((resolve) => {
    const unsubscribe = other.subscribe('key', (id) => {
      if (id !== marker) return;
      unsubscribe();
      resolve();
    });
    bus.publish('key', marker);
  });
}

test.each([
  ['demote', (by: Actor, id: User['id']) => change(context(), by, updateUser, { id, changes: { role: 'USER' } })],
  ['suspend', (by: Actor, id: User['id']) => change(context(), by, suspendUser, { id, ...KEEP })],
])('of two admins who %s each other at once, one stays', async (_, act) => {
  for (let round = 0; round < 10; round++) {
    await database.pool.query('delete from users');
    const [anna, ben] = [await person('anna', 'ADMIN'), await person('ben', 'ADMIN')];
    const results = await Promise.allSettled([act(anna.actor, ben.id), act(ben.actor, anna.id)]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const refused = results.find((result) => result.status === 'rejected');
    expect(refused?.reason).toMatchObject({ kind: 'forbidden', message: 'access denied' });
    const checks = await Promise.allSettled(
      [anna, ben].map(({ id }) => checkOperator(database.pool, id, 'writeUsers')),
    );
    expect(checks.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  }
});

test('the last active admin cannot be demoted or suspended, not by the tools either; a suspended one does not count', async () => {
  const [anna, ben] = [await person('anna', 'ADMIN'), await person('ben', 'ADMIN')];
  await change(context(), anna.actor, suspendUser, { id: ben.id, ...KEEP });
  const message = "'anna' is the only active admin and cannot be demoted: make another one first";
  for (const by of [anna.actor, null]) {
    await expect(change(context(), by, updateUser, { id: anna.id, changes: { role: 'USER' } })).rejects.toMatchObject({
      kind: 'conflict',
      message,
    });
    await expect(change(context(), by, suspendUser, { id: anna.id, ...KEEP })).rejects.toMatchObject({
      kind: 'conflict',
    });
  }
  await change(context(), anna.actor, resumeUser, { id: ben.id });
  expect(await change(context(), anna.actor, updateUser, { id: anna.id, changes: { role: 'USER' } })).toMatchObject({
    role: 'USER',
  });
});

test('a user who is no admin changes nobody, and only a key with all scopes makes an admin', async () => {
  const [anna, carl] = [await person('anna', 'ADMIN'), await person('carl')];
  await expect(change(context(), carl.actor, suspendUser, { id: anna.id, ...KEEP })).rejects.toMatchObject({
    kind: 'forbidden',
  });
  const narrow: Actor = {
    ...anna.actor,
    scopes: [{ kind: 'area', area: 'users', resourceId: null, access: 'write' }],
  };
  await expect(
    change(context(), narrow, updateUser, { id: carl.id, changes: { role: 'ADMIN' } }),
  ).rejects.toMatchObject({
    kind: 'forbidden',
    message: "access denied: only a key with the scope 'all' can make an admin",
  });
  expect(
    await change(context(), narrow, updateUser, { id: carl.id, changes: { email: 'c@example.org' } }),
  ).toMatchObject({
    email: 'c@example.org',
    role: 'USER',
  });
  expect(await change(context(), anna.actor, updateUser, { id: carl.id, changes: { role: 'ADMIN' } })).toMatchObject({
    role: 'ADMIN',
  });
});

test('a suspension reaches cached keys and open streams of every process by hint, and ends as fast', async () => {
  const [anna, carl] = [await person('anna', 'ADMIN'), await person('carl')];
  await heardByOther(); // else the hint about anna's new key could come late, and drop it
  const rings = [bus, other].map((own) => new KeyRing({ pool: database.pool, bus: own, clock: systemClock }));
  const ended: number[] = [];
  for (const [i, ring] of rings.entries()) {
    await ring.authenticate(carl.secret);
    await ring.authenticate(anna.secret);
    ring.onEnd(carl.actor.keyId, () => ended.push(i));
    ring.onEnd(anna.actor.keyId, () => ended.push(-1));
  }
  await change(context(), anna.actor, suspendUser, { id: carl.id, ...KEEP });
  for (const ring of rings) {
    await expect.poll(() => ring.peek(carl.secret)).toBeUndefined();
    for (let times = 0; times < 2; times++) {
      await expect(ring.authenticate(carl.secret)).rejects.toMatchObject({
        kind: 'forbidden',
        message: 'this account is suspended: ask an admin of this server',
      });
    }
    expect(ring.peek(anna.secret)).toMatchObject({ userId: anna.id });
  }
  await expect.poll(() => ended.sort()).toEqual([0, 1]);
  expect((await findUser(database.pool, carl.id))?.suspension).toMatchObject({ byId: anna.id, reason: 'unpaid' });
  await change(context(), anna.actor, resumeUser, { id: carl.id });
  for (const ring of rings) {
    await expect.poll(() => ring.authenticate(carl.secret).catch(() => null)).toMatchObject({ userId: carl.id });
    ring.close();
  }
});

test('a suspended key is no guess, and an unknown one tells nothing of suspensions', async () => {
  const [anna, carl] = [await person('anna', 'ADMIN'), await person('carl')];
  await change(context(), anna.actor, suspendUser, { id: carl.id, ...KEEP });
  let nowMs = Date.now();
  const clock = { now: () => nowMs };
  const ring = new KeyRing({ pool: database.pool, bus, clock, monotonic: clock });
  const peer = { remoteAddress: '192.0.2.1', forwardedFor: undefined };
  for (let times = 0; times < 50; times++) {
    nowMs += 10_000;
    await expect(ring.authenticate(carl.secret, peer)).rejects.toMatchObject({ kind: 'forbidden' });
  }
  expect(await ring.authenticate('pyk_unknown', peer)).toBeUndefined();
  ring.close();
});
