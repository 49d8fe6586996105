import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type AuditFilter, listEntries } from './list-entries.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query(
    `insert into audit_entries (at, operation, record_id, owner_id, actor_id, actor_kind, interface, outcome)
     select now() - (20000 - i) * interval '1 minute',
       case i % 1000 when 1 then 'secret.create' when 2 then 'secret.update' when 3 then 'secretary.hire' else 'pod.stop' end,
       'p' || i % 500, 'u' || i % 50, 'u' || (i + i % 2) % 50, 'key', 'rest', case i % 1000 when 7 then 'refused' else 'done' end
     from generate_series(1, 20000) i`,
  );
  await database.pool.query('analyze audit_entries');
});
afterAll(() => database.drop());

/** How the statements of `work` are carried out. */
async function plansOf(work: (db: Db) => Promise<unknown>): Promise<string> {
  const plans: string[] = [];
  const query = async (text: string, values: unknown[]) => {
    const { rows } = await database.pool.query(`explain ${text}`, values);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return database.pool.query(text, values);
  };
  await work({ query } as never);
  return plans.join('\n');
}

test.each<[string, AuditFilter, string]>([
  ['all', { ownerId: null }, 'audit_entries_by_time'],
  ['an owner', { ownerId: 'u7' as UserId }, 'audit_entries_by_owner'],
  ['a record', { ownerId: null, recordId: 'p7' }, 'audit_entries_by_record'],
  ['an actor', { ownerId: null, actorId: 'u8' }, 'audit_entries_by_actor'],
  ['an operation', { ownerId: null, operation: 'secret.update' }, 'audit_entries_by_operation'],
  ['a kind of record', { ownerId: null, operation: 'secret' }, 'audit_entries_by_operation'],
  ['an operation that is not in the log', { ownerId: null, operation: 'volume.create' }, 'audit_entries_by_operation'],
  ['refusals', { ownerId: null, outcome: 'refused' }, 'audit_entries_by_outcome'],
  ['an owner’s refusals', { ownerId: 'u7' as UserId, outcome: 'refused' }, 'audit_entries_by_owner_outcome'],
  ['failures, of which there is none', { ownerId: null, outcome: 'failed' }, 'audit_entries_by_outcome'],
  ['a time', { ownerId: null, until: new Date(Date.now() - 864_000_000) }, 'audit_entries_by_time'],
])('the newest entries of %s are read from an index, in its order', async (_, filter, index) => {
  const plan = await plansOf((db) => listEntries(db, filter, { limit: 50 }));
  expect(plan).toContain(index);
  expect(plan).not.toContain('Seq Scan on audit_entries');
});

test.each<[string, AuditFilter, string, number]>([
  ['an actor, of their own and of others', { ownerId: null, actorId: 'u8' }, "actor_id = 'u8'", 800],
  ['a kind of record', { ownerId: null, operation: 'secret' }, "operation in ('secret.create', 'secret.update')", 40],
  [
    'an owner’s kind',
    { ownerId: 'u2' as UserId, operation: 'secret' },
    "owner_id = 'u2' and operation ~ '^secret[.]'",
    20,
  ],
])('the entries of %s come in one order, page by page', async (_, filter, condition, count) => {
  const seen: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await listEntries(database.pool, filter, { limit: 7, cursor });
    seen.push(...page.entries.map(({ seq }) => seq));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  const { rows } = await database.pool.query(`select seq from audit_entries where ${condition} order by seq desc`);
  expect(seen).toEqual(rows.map(({ seq }) => seq));
  expect(seen).toHaveLength(count);
});
