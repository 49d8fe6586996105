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
     select now() - (20000 - i) * interval '1 minute', 'pod.stop', 'p' || i % 500, 'u' || i % 50, 'u' || (i + i % 2) % 50, 'key', 'rest', 'done'
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
  ['a time', { ownerId: null, until: new Date(Date.now() - 864_000_000) }, 'audit_entries_by_time'],
])('the newest entries of %s are read from an index, in its order', async (_, filter, index) => {
  const plan = await plansOf((db) => listEntries(db, filter, { limit: 50 }));
  expect(plan).toContain(index);
  expect(plan).not.toContain('Seq Scan on audit_entries');
});

test('an actor has both what is their own and what is of others, in one order, page by page', async () => {
  const seen: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await listEntries(database.pool, { ownerId: null, actorId: 'u8' }, { limit: 77, cursor });
    seen.push(...page.entries.map(({ seq }) => seq));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  const { rows } = await database.pool.query("select seq from audit_entries where actor_id = 'u8' order by seq desc");
  expect(seen).toEqual(rows.map(({ seq }) => seq));
  expect(seen).toHaveLength(800);
});
