import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import type { UserId } from '../core/ids.ts';
import { type Actor, PODYARD } from './access/actor.ts';
import { PERMISSIONS } from './access/permissions.ts';
import { parseScope } from './access/scopes.ts';
import { createUser } from './access/users.ts';
import { change, type Operation, type Tx } from './change.ts';
import { writeLimits } from './quotas/limit-store.ts';

let database: TestDatabase;
let userId: UserId;
const sent: string[] = [];
const logged: object[] = [];
const bus = { publish: (topic: string, id: string) => void sent.push(`${topic} ${id}`) };
const logger = { debug: (fields: object) => void logged.push(fields) };
beforeAll(async () => {
  database = await createTestDatabase();
  userId = (await createUser(database.pool, { name: 'anna', email: null })).id;
});
afterAll(() => database.drop());
beforeEach(() => {
  sent.length = 0;
  logged.length = 0;
});

const context = () => ({ pool: database.pool, bus, logger, suffix: '!' });
const actorWith = (...scopes: string[]): Actor => ({ userId, keyId: 'k' as never, scopes: scopes.map(parseScope) });

/** Renames the user, and fails if told to. */
const rename: Operation<Tx<Actor | null> & { suffix: string }, { id: string; name: string; fail?: Error }, string> = {
  name: 'test.rename',
  permission: PERMISSIONS.writeVolume,
  async run({ db, bus: hints, suffix }, { name, fail }) {
    hints.publish('user', name);
    await db.query('update users set email = $2 where id = $1', [userId, name + suffix]);
    if (fail) throw fail;
    return name + suffix;
  },
  subject: ({ id }) => id,
};
const email = async () => (await database.pool.query('select email from users where id = $1', [userId])).rows[0].email;

test('an operation commits, then its hints go out, and a debug line names the record and who changed it', async () => {
  expect(await change(context(), actorWith('all'), rename, { id: 'r1', name: 'one' })).toBe('one!');
  expect(await email()).toBe('one!');
  expect(sent).toEqual(['user one']);
  expect(logged).toEqual([{ operation: 'test.rename', id: 'r1', by: userId, keyId: 'k' }]);
});

test('a key that may not do it is refused before anything runs; one for that record alone may', async () => {
  const before = await email();
  for (const scope of ['read-only', 'network-volumes:read', 'network-volumes/other:write']) {
    const refused = change(context(), actorWith(scope), rename, { id: 'r1', name: 'two' });
    await expect(refused).rejects.toMatchObject({ kind: 'forbidden' });
  }
  expect([await email(), sent]).toEqual([before, []]);
  await change(context(), actorWith('network-volumes/r1:write'), rename, { id: 'r1', name: 'three' });
  expect(await email()).toBe('three!');
});

test('the operator’s tools need no permission', async () => {
  await change(context(), null, rename, { id: 'r1', name: 'four' });
  expect(await email()).toBe('four!');
});

test('an operation that fails leaves nothing: no row, no hint, no line', async () => {
  const before = await email();
  const fail = new Error('late');
  await expect(change(context(), actorWith('all'), rename, { id: 'r1', name: 'five', fail })).rejects.toBe(fail);
  expect([await email(), sent, logged]).toEqual([before, [], []]);
});

test('an operation that runs again after a conflict sends the hints of the run that was committed, once', async () => {
  let runs = 0;
  const conflicting: typeof rename = {
    ...rename,
    async run(tx, input) {
      const name = `${input.name}${++runs}`;
      const result = await rename.run(tx, { ...input, name }, undefined as never);
      if (runs < 3) await tx.db.query("do $$ begin raise exception 'again' using errcode = '40001'; end $$");
      return result;
    },
  };
  await change(context(), actorWith('all'), conflicting, { id: 'r1', name: 'six' });
  expect([runs, await email(), sent]).toEqual([3, 'six3!', ['user six3']]);
});

test('what one statement can do needs no transaction; what it cannot is run, and its hints are forgotten', async () => {
  const quick: typeof rename = {
    ...rename,
    async runAtOnce({ db, bus: hints }, { name }) {
      hints.publish('user', `quick ${name}`);
      if (name !== 'seven') return undefined;
      await db.query('update users set email = $2 where id = $1', [userId, 'at once']);
      return 'at once';
    },
  };
  expect(await change(context(), actorWith('all'), quick, { id: 'r1', name: 'seven' })).toBe('at once');
  expect([await email(), sent]).toEqual(['at once', ['user quick seven']]);
  expect(await change(context(), actorWith('all'), quick, { id: 'r1', name: 'eight' })).toBe('eight!');
  expect([await email(), sent]).toEqual(['eight!', ['user quick seven', 'user eight']]);
  expect(logged).toHaveLength(2);
});

test('one record too many is refused in the transaction, before the operation runs', async () => {
  await writeLimits(database.pool, userId, { pods: 2 });
  let runs = 0;
  const adding: Operation<Tx, { count: number }, void> = {
    name: 'test.add',
    permission: () => PERMISSIONS.writePod({}),
    adds: ({ count }) => ({ record: 'pods', count }),
    run: async () => void runs++,
    subject: () => '',
  };
  await change(context(), actorWith('all'), adding, { count: 2 });
  await expect(change(context(), actorWith('all'), adding, { count: 3 })).rejects.toMatchObject({ kind: 'forbidden' });
  expect(runs).toBe(1);
});

/** A change that waits for `finish` once it has begun. */
function slowChange() {
  const begun: string[] = [];
  const { promise: end, resolve: finish } = Promise.withResolvers<void>();
  const slow: Operation<Tx, { id: string }, void> = {
    name: 'test.wait',
    permission: PERMISSIONS.writeVolume,
    isAudited: () => false,
    async run(_, { id }) {
      begun.push(id);
      await end;
    },
    subject: ({ id }) => id,
  };
  return { begun, slow, finish };
}

test('a person has four changes in progress at a time, whatever they own; those of others do not wait for them', async () => {
  const { id: other } = await createUser(database.pool, { name: 'other', email: null });
  const { begun, slow, finish } = slowChange();
  const member: Actor = { ...actorWith('all'), userId: other, personId: userId };
  const running = Array.from({ length: 6 }, (_, i) =>
    change(context(), i % 2 ? member : actorWith('all'), slow, { id: `${i}` }),
  );
  await expect.poll(() => begun.length).toBe(4);
  const owner: Actor = { ...actorWith('all'), userId: other };
  running.push(change(context(), owner, slow, { id: 'of the other' }));
  await expect.poll(() => begun).toContain('of the other');
  expect(begun).toHaveLength(5);
  finish();
  await Promise.all(running);
  expect(begun).toHaveLength(7);
});

test('sign-ins, in whose name nobody acts yet, have no such limit together', async () => {
  const { begun, slow, finish } = slowChange();
  const running = Array.from({ length: 5 }, (_, i) => change(context(), PODYARD, slow, { id: `${i}` }));
  await expect.poll(() => begun).toHaveLength(5);
  finish();
  await Promise.all(running);
});
