import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { systemClock } from '../../core/clock.ts';
import { silentLogger } from '../../core/logger.ts';
import { Metrics } from '../../core/metrics.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { storeDestination } from '../../domain/notices/destination-store.ts';
import { type DestinationId, NOTICE_EVENTS, type NoticeMessage } from '../../domain/notices/notice.ts';
import { listDeliveries, MAX_PER_HOUR } from '../../domain/notices/outbox.ts';
import { noticeLoop } from './keep-notices.ts';
import { sendDueNotices } from './send-notices.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('ann', 'ann'), ('bob', 'bob')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  for (const table of ['notice_destinations', 'notice_looks', 'workers', 'endpoints', 'api_keys'])
    await sql(`delete from ${table}`);
  disk = null;
  fails = null;
  mail = null;
  sent.length = 0;
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values);
const sent: { address: string; message: NoticeMessage }[] = [];
let disk: string | null | Error = null;
let fails: string | null = null;
let mail: { anyRecipientIn: string[] } | null = null;

/** Another leader: it remembers nothing. */
const leader = (epoch = 1) =>
  noticeLoop({
    ...{ pool: database.pool, clock: systemClock, logger: silentLogger, epoch, onLook: () => {} },
    readDisk: async () => {
      if (disk instanceof Error) throw disk;
      return disk;
    },
    readUpdate: () => null,
  });
const deliverDue = () => {
  const deps = {
    ...{ pool: database.pool, logger: silentLogger, metrics: new Metrics({ maxEndpoints: 1 }) },
    secretBox: createSecretBox(randomBytes(32)),
    notices: {
      mail,
      send: async ({ address }: { address: string }, message: NoticeMessage) => {
        if (fails !== null) throw new Error(fails);
        sent.push({ address, message });
      },
    },
  };
  return sendDueNotices(deps, new AbortController().signal, silentLogger);
};
async function look(epoch = 1): Promise<void> {
  await leader(epoch).runOnce();
  await deliver();
}
async function deliver(): Promise<void> {
  while ((await deliverDue()) !== undefined);
}
const destination = (id: string, userId: string | null = 'ann', more: object = {}) =>
  storeDestination(database.pool, {
    ...{ id: id as DestinationId, userId: userId as never, name: id, kind: 'EMAIL', address: `${id}@example.com` },
    ...{ events: [...NOTICE_EVENTS], waitMinutes: 10, isEnabled: true },
    ...more,
  });
async function failing(id: string, user = 'ann'): Promise<void> {
  await insertEndpoint(database.pool, { id, user_id: user });
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, is_lost, exited_at, phase_reason)
     values ('w' || $1, $1, $2, 1, '', '{}', 'EXITED', true, now(), 'it exited with code 1')`,
    id,
    user,
  );
}
const texts = () =>
  sent.map(({ address, message }) => [
    address.split('@')[0],
    message.items[0]!.event,
    message.items[0]!.phase,
    message.items.map(({ name }) => name).join(),
  ]);
const passHour = (hours = 1) =>
  sql(
    `update notice_messages set created_at = created_at - $1 * interval '1 hour', due_at = due_at - $1 * interval '1 hour'`,
    hours,
  );
const passQuiet = () => sql(`update notices set absent_since = absent_since - interval '6 minutes'`);

test('what fails is told once, to its owner and to the installation, whoever leads; those alike as one message', async () => {
  await destination('a');
  await destination('all', null);
  await destination('b', 'bob');
  await failing('e1');
  await failing('e2');
  await look();
  await look(); // another leader
  expect(texts().toSorted()).toEqual([
    ['a', 'ENDPOINT_FAILING', 'BEGAN', 'e1,e2'],
    ['all', 'ENDPOINT_FAILING', 'BEGAN', 'e1,e2'],
  ]);
});

test('what is over is told once, after five quiet minutes', async () => {
  await destination('a');
  await failing('e1');
  await look();
  await sql('delete from workers');
  await look();
  await look();
  expect(texts()).toHaveLength(1);
  await passQuiet();
  await look();
  await look();
  expect(texts()).toEqual([
    ['a', 'ENDPOINT_FAILING', 'BEGAN', 'e1'],
    ['a', 'ENDPOINT_FAILING', 'ENDED', 'e1'],
  ]);
});

test('a leader that is killed after it decided, and one that is killed after it sent, lose nothing and flood nobody', async () => {
  await destination('a');
  await failing('e1');
  await leader().runOnce(); // and no courier
  await sql(`update notice_messages set attempts = 1`); // taken, and then killed before it was recorded
  await deliver();
  await look(2);
  expect(sent.filter(({ message }) => message.items[0]!.event === 'ENDPOINT_FAILING')).toHaveLength(1);
  const ids = new Set(sent.map(({ message }) => message.id));
  await sql('update notice_messages set sent_at = null'); // sent, and then killed before that was recorded
  await deliver();
  expect(new Set(sent.map(({ message }) => message.id))).toEqual(ids);
});

test('two leaders that decide the same write one message', async () => {
  await destination('a');
  await failing('e1');
  await Promise.all([leader().runOnce(), leader().runOnce()]);
  await deliver();
  expect(texts()).toEqual([['a', 'ENDPOINT_FAILING', 'BEGAN', 'e1']]);
});

test('a flood is so many messages in an hour, then one summary', async () => {
  await destination('a');
  for (let i = 0; i < MAX_PER_HOUR + 5; i++) {
    await failing(`e${i}`);
    await look();
  }
  expect(sent).toHaveLength(MAX_PER_HOUR);
  await passHour();
  await look();
  expect(sent).toHaveLength(MAX_PER_HOUR + 1);
  expect(sent.at(-1)!.message.items.map(({ name }) => name)).toEqual(['e20', 'e21', 'e22', 'e23', 'e24']);
  const before = sent.length;
  for (let i = 0; i < 60; i++) await failing(`f${i}`);
  await look();
  expect(sent).toHaveLength(before + 1);
  expect(sent.at(-1)!.message.items).toHaveLength(50);
  expect(sent.at(-1)!.message.more).toBe(10);
});

test('a receiver that is away gets it later: after a growing pause, in its order, with one summary of what came meanwhile', async () => {
  await destination('a');
  await failing('e1');
  fails = 'no answer';
  await look();
  await look(); // too early
  const [failed] = await listDeliveries(database.pool, 'a' as DestinationId);
  expect(failed).toMatchObject({ attempts: 1, lastError: 'no answer', sentAt: null });
  expect(failed!.dueAt!.getTime() - Date.now()).toBeGreaterThan(30_000);
  for (const id of ['e2', 'e3', 'e4']) {
    await failing(id);
    await look();
  }
  await passHour();
  await deliver();
  expect(await listDeliveries(database.pool, 'a' as DestinationId)).toMatchObject([{ attempts: 0 }, { attempts: 2 }]);
  fails = null;
  await passHour();
  await deliver();
  expect(texts()).toEqual([
    ['a', 'ENDPOINT_FAILING', 'BEGAN', 'e1'],
    ['a', 'ENDPOINT_FAILING', 'BEGAN', 'e2,e3,e4'],
  ]);
});

test('after three days it is given up', async () => {
  await destination('a');
  await failing('e1');
  fails = 'no answer';
  await look();
  await passHour(73);
  await deliver();
  await passHour(2);
  fails = null;
  await deliver();
  expect(sent).toEqual([]);
  const [given] = await listDeliveries(database.pool, 'a' as DestinationId);
  expect(given).toMatchObject({ attempts: 2, lastError: 'no answer', givenUpAt: expect.any(Date), dueAt: null });
});

test('a destination that is switched off is told nothing, and one of a suspended account neither', async () => {
  await destination('a', 'ann', { isEnabled: false });
  await destination('b', 'bob');
  await sql(`update users set suspended_at = now(), suspended_workloads = 'KEEP' where id = 'bob'`);
  await failing('e1');
  await failing('e2', 'bob');
  await look();
  await sql(`update users set suspended_at = null, suspended_workloads = null where id = 'bob'`);
  expect(sent).toEqual([]);
});

test('who has left a team is told nothing more of it; the destination says so', async () => {
  mail = { anyRecipientIn: [] };
  await sql(`insert into users (id, name, kind) values ('lab', 'lab', 'TEAM')`);
  await sql(`update users set email = name || '@example.com' where id in ('ann', 'bob')`);
  await sql(
    `insert into team_members (team_id, user_id, role) values ('lab', 'ann', 'OWNER'), ('lab', 'bob', 'VIEWER')`,
  );
  await destination('ann', 'lab');
  await destination('bob', 'lab');
  await sql(`delete from team_members where user_id = 'bob'`);
  await failing('e1', 'lab');
  await look();
  expect(texts()).toEqual([['ann', 'ENDPOINT_FAILING', 'BEGAN', 'e1']]);
  const [kept] = await listDeliveries(database.pool, 'bob' as DestinationId);
  expect(kept!.lastError).toMatch(/^nobody of this account has this address any more/);
});

test('the disk: nothing ends while it cannot be read', async () => {
  await destination('all', null);
  disk = 'The disk of the data directory has 1.0 GiB of 100.0 GiB left';
  await look();
  disk = new Error('no such directory');
  await look();
  await passQuiet();
  await look();
  expect(texts()).toEqual([['all', 'DISK', 'BEGAN', '']]);
  disk = null;
  await look();
  await passQuiet();
  await look();
  expect(texts()).toHaveLength(2);
});

test('another leader is told once; the first look is none, nor is one after a leader that was stopped', async () => {
  await destination('all', null);
  const stopped = leader(0);
  await stopped.runOnce();
  await stopped.stop();
  await look(1);
  await look(1);
  expect(sent).toEqual([]);
  await leader(2).runOnce();
  await look(2);
  expect(texts()).toEqual([['all', 'LEADER_CHANGED', 'BEGAN', '']]);
});

test('a key’s expiry is told a week and a day before, to the account and to a team’s owners', async () => {
  await sql(`insert into users (id, name, kind) values ('crew', 'crew', 'TEAM')`);
  await sql(
    `insert into team_members (team_id, user_id, role) values ('crew', 'ann', 'OWNER'), ('crew', 'bob', 'VIEWER')`,
  );
  for (const [id, user] of [
    ['a', 'ann'],
    ['b', 'bob'],
    ['c', 'crew'],
  ] as const)
    await destination(id, user);
  await sql(
    `insert into api_keys (id, user_id, name, secret_hash, scopes, created_at, expires_at)
     values ('k', 'crew', 'ci', '\\x00', '{all}', now() - interval '90 days', now() + interval '6 days')`,
  );
  await look();
  await look();
  const week = [
    ['a', 'KEY_EXPIRES', 'BEGAN', 'ci'],
    ['c', 'KEY_EXPIRES', 'BEGAN', 'ci'],
  ];
  expect(texts().toSorted()).toEqual(week);
  await sql(`update api_keys set expires_at = now() + interval '20 hours'`);
  await look();
  expect(texts()).toHaveLength(4);
  await sql('update api_keys set revoked_at = now()');
  await look();
  await passQuiet();
  await look();
  expect(texts()).toHaveLength(4);
  await sql(`delete from users where id = 'crew'`);
});
