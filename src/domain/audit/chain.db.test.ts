import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { systemActor } from '../access/actor.ts';
import { ChainSealer, verifyChain } from './chain.ts';
import { expireEntries } from './expire-entries.ts';
import { recordEvent } from './record-event.ts';
import { recordDelivered } from './stream-store.ts';

let database: TestDatabase;
const dropped: TestDatabase[] = [];
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 12 });
  dropped.push(database);
});
afterAll(() => Promise.all(dropped.map((each) => each.drop())));

const ACTOR = systemActor('u1' as UserId);
const write = (db: Db, name: string) =>
  recordEvent(db, ACTOR, { operation: 'test.write', recordId: name, changes: { name: [null, name] } });

async function sealAll(sealer = new ChainSealer(database.pool)): Promise<number> {
  let total = 0;
  for (;;) {
    const { sealed } = await sealer.sealNext();
    if (sealed === 0) return total;
    total += sealed;
  }
}

/** Tampers as somebody with every right can: without the triggers. */
async function tamper(statement: string): Promise<void> {
  await database.pool.query(`alter table audit_entries disable trigger append_only;
    alter table audit_seals disable trigger append_only; ${statement};
    alter table audit_entries enable trigger append_only; alter table audit_seals enable trigger append_only`);
}

test('entries and links can be neither changed nor removed', async () => {
  await write(database.pool, 'a');
  await sealAll();
  for (const statement of [
    "update audit_entries set operation = 'x'",
    'delete from audit_entries',
    'truncate audit_entries',
    'update audit_seals set last_seq = 9',
    'delete from audit_seals',
  ]) {
    await expect(database.pool.query(statement), statement).rejects.toThrow('append-only');
  }
});

test('an untouched log is whole; a changed, a removed and an inserted entry are each found', async () => {
  for (let i = 1; i <= 9; i++) {
    await write(database.pool, `r${i}`);
    if (i % 3 === 0) await sealAll();
  }
  const whole = await verifyChain(database.pool);
  expect(whole).toEqual({ entries: 9, unsealed: 0, head: expect.stringMatching(/^[0-9a-f]{64}$/), faults: [] });
  await tamper("update audit_entries set changes = '{}' where seq = 2");
  await tamper('delete from audit_entries where seq in (5, 6)');
  await tamper(`insert into audit_entries (seq, operation, actor_kind, interface, outcome)
                values (0, 'test.forged', 'key', 'rest', 'done')`);
  const { faults } = await verifyChain(database.pool);
  expect(faults).toEqual([
    { seq: 2, fault: 'it was changed' },
    { seq: 0, fault: 'it was inserted later' },
    { seq: 5, fault: 'it was removed' },
    { seq: 6, fault: 'it was removed' },
  ]);
});

test('an entry that is put in a gap later is found, and so are links that were removed or written anew', async () => {
  const client = await database.pool.connect();
  await client.query('begin');
  await write(client, 'rolled back');
  await client.query('rollback');
  client.release();
  await write(database.pool, 'kept');
  const sealer = new ChainSealer(database.pool);
  expect(await sealer.sealNext()).toMatchObject({ sealed: 0 }); // the gap is new
  expect(await sealer.sealNext()).toMatchObject({ sealed: 1 }); // and nobody is left who could fill it
  const { head } = await verifyChain(database.pool);
  await tamper(`insert into audit_entries (seq, operation, actor_kind, interface, outcome)
                values (1, 'test.forged', 'key', 'rest', 'done')`);
  expect((await verifyChain(database.pool)).faults).toEqual([{ seq: 1, fault: 'it was inserted later' }]);
  await tamper('delete from audit_seals');
  await sealAll(new ChainSealer(database.pool));
  expect((await verifyChain(database.pool)).faults).toEqual([]);
  const { faults } = await verifyChain(database.pool, { knownHead: head! });
  expect(faults).toEqual([{ seq: 2, fault: expect.stringContaining('no link has the hash') }]);
});

test('a link that is missing in the middle or at the begin is found', async () => {
  for (let i = 0; i < 4; i++) {
    await write(database.pool, `r${i}`);
    await sealAll();
  }
  await tamper('delete from audit_seals where last_seq = 2');
  expect((await verifyChain(database.pool)).faults[0]).toMatchObject({
    fault: expect.stringContaining('does not follow'),
  });
  await tamper('delete from audit_seals where last_seq = 1');
  expect((await verifyChain(database.pool)).faults[0]).toMatchObject({
    fault: expect.stringContaining('not by retention'),
  });
});

test('what is missing at the end is found where it was sent elsewhere, also when the log has gone on', async () => {
  for (let i = 1; i <= 3; i++) {
    await write(database.pool, `r${i}`);
    await sealAll();
  }
  await recordDelivered(database.pool, 'WEBHOOK', 3);
  expect((await verifyChain(database.pool)).faults).toEqual([]);
  await tamper('delete from audit_entries where seq = 3; delete from audit_seals where last_seq = 3');
  const fault = 'it was sent to WEBHOOK, and is gone: links at the end were removed';
  expect((await verifyChain(database.pool)).faults).toEqual([{ seq: 3, fault }]);
  await write(database.pool, 'r4');
  const sealer = new ChainSealer(database.pool);
  for (let i = 0; i < 2; i++) await sealer.sealNext();
  expect((await verifyChain(database.pool)).faults).toEqual([{ seq: 3, fault }]);
});

test('nothing is sealed past a transaction that still runs, and its entry is sealed in its place', async () => {
  const slow = await database.pool.connect();
  await slow.query('begin');
  await write(slow, 'slow');
  await write(database.pool, 'fast');
  const sealer = new ChainSealer(database.pool);
  for (let i = 0; i < 3; i++) expect(await sealer.sealNext()).toMatchObject({ sealed: 0 });
  await slow.query('commit');
  slow.release();
  expect(await sealAll(sealer)).toBe(2);
  expect(await verifyChain(database.pool)).toMatchObject({ entries: 2, unsealed: 0, faults: [] });
});

test('concurrent changes, half of them killed or rolled back, leave a chain that is whole and has every committed entry', async () => {
  const sealer = new ChainSealer(database.pool);
  let committed = 0;
  let isOver = false;
  const writer = async (n: number) => {
    for (let i = 0; i < 25; i++) {
      const client: pg.PoolClient = await database.pool.connect();
      let broken: Error | undefined;
      try {
        await client.query('begin');
        await write(client, `${n}.${i}`);
        if ((n + i) % 4 === 0) await client.query('select pg_terminate_backend(pg_backend_pid())');
        else if ((n + i) % 4 === 1) await client.query('rollback');
        else {
          await client.query('commit');
          committed += 1;
        }
      } catch (error) {
        broken = error as Error;
      }
      client.release(broken);
    }
  };
  const sealing = (async () => {
    while (!isOver) await sealer.sealNext();
  })();
  await Promise.all([1, 2, 3, 4, 5, 6].map(writer));
  isOver = true;
  await sealing;
  await expect.poll(async () => (await sealer.sealNext()).sealed + (await verifyChain(database.pool)).unsealed).toBe(0);
  expect(await verifyChain(database.pool)).toMatchObject({ entries: committed, unsealed: 0, faults: [] });
  const { rows } = await database.pool.query('select count(*) from audit_entries');
  expect(rows[0].count).toBe(committed);
});

test('retention removes whole links, says so in the log, and the chain goes on', async () => {
  for (let i = 0; i < 3; i++) {
    await write(database.pool, `old${i}`);
    await sealAll();
  }
  // A Date has whole milliseconds: the next one is after what is old, and the new entry after that.
  const next = "select clock_timestamp() + interval '1 ms' as at, pg_sleep(0.003)";
  const { rows } = await database.pool.query<{ at: Date }>(next);
  await write(database.pool, 'new');
  expect(await expireEntries(database.pool, ACTOR, rows[0]!.at)).toBe(3);
  expect(await expireEntries(database.pool, ACTOR, rows[0]!.at)).toBe(0);
  await sealAll();
  expect(await verifyChain(database.pool)).toMatchObject({ entries: 2, unsealed: 0, faults: [] });
  const left = await database.pool.query('select operation, changes from audit_entries order by seq');
  expect(left.rows).toMatchObject([
    { operation: 'test.write' },
    { operation: 'audit.expire', changes: { entries: [3, 0] } },
  ]);
});

test('nobody but the owner may have retention remove entries', async () => {
  const { rows } = await database.pool.query<{ anybody: boolean; owner: boolean }>(
    `select has_function_privilege('public', p.oid, 'execute') as anybody,
            has_function_privilege(p.proowner, p.oid, 'execute') as owner
     from pg_proc p where p.proname = 'podyard_expire_audit' and p.pronamespace = current_schema()::regnamespace`,
  );
  expect(rows).toEqual([{ anybody: false, owner: true }]);
});
