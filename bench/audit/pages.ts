import type { UserId } from '../../src/core/ids.ts';
import type { Pool } from '../../src/db/pool.ts';
import { type AuditFilter, listEntries } from '../../src/domain/audit/list-entries.ts';
import { Latencies } from '../queue/latencies.ts';

const SLICE = 1_000_000;
const PAGES_A_ROUND = 40;
const OWNERS = 1_000;
const RECORDS = 20_000;
/** The time that the entries are spread over. */
const DAYS = 400;

/** Fills the log with entries of a thousand owners, one in ten of somebody else's, one in fifty refused, one in a million rare. */
export async function fillLog(pool: Pool, entries: number): Promise<void> {
  const { rows } = await pool.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename = 'audit_entries' and indexname <> 'audit_entries_pkey'`,
  );
  for (const { name } of rows) await pool.query(`drop index ${name}`);
  for (let first = 1; first <= entries; first += SLICE) await fillSlice(pool, entries, first);
  for (const { definition } of rows) await pool.query(definition);
  await pool.query('vacuum analyze audit_entries');
}

async function fillSlice(pool: Pool, entries: number, first: number): Promise<void> {
  await pool.query(
    `insert into audit_entries (at, operation, record_id, record_name, owner_id, actor_kind, actor_id, key_id, interface,
       address, request_id, outcome, changes)
     select now() - (($1::int - i)::float8 / $1::int) * interval '${DAYS} days',
       case when i % 1000000 = 7 then 'key.rotate' else (array['endpoint.update', 'pod.stop', 'secret.update', 'session.create'])[1 + i % 4] end,
       'r' || (i::int8 * 2654435761) % ${RECORDS}, 'a record', 'u' || i % ${OWNERS}, 'key',
       'u' || (i + case when i % 10 = 0 then 1 else 0 end) % ${OWNERS}, 'k0123456789abc', 'rest', '203.0.113.7', 'req_' || i,
       case when i % 50 = 0 then 'refused' else 'done' end, '{"workers":[{"min":0,"max":3},{"min":0,"max":4}]}'
     from generate_series($2::int, least($2::int + ${SLICE} - 1, $1::int)) i`,
    [entries, first],
  );
}

/** Returns rows of a table: how long the newest page takes, without and with filters. */
export async function measurePages(pool: Pool, rounds: number): Promise<string[][]> {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  const ownerId = 'u7' as UserId;
  const filters: Record<string, AuditFilter> = {
    all: { ownerId: null },
    'an owner': { ownerId },
    'a record': { ownerId: null, recordId: 'r7' },
    'an actor': { ownerId: null, actorId: 'u8' },
    'a kind of record': { ownerId: null, operation: 'secret' },
    'an operation': { ownerId: null, operation: 'pod.stop' },
    'one that is rare': { ownerId: null, operation: 'key.rotate' },
    refused: { ownerId: null, outcome: 'refused' },
    failed: { ownerId: null, outcome: 'failed' },
    'before 200 days ago': { ownerId: null, until: daysAgo(200) },
    'a day, 300 days ago': { ownerId: null, since: daysAgo(300), until: daysAgo(299) },
    'an owner’s day, 300 days ago': { ownerId, since: daysAgo(300), until: daysAgo(299) },
    'an owner’s refused': { ownerId, outcome: 'refused' },
    'an owner’s rare operation': { ownerId, operation: 'key.rotate' },
    'an owner’s kind of record': { ownerId, operation: 'secret' },
  };
  const rows: string[][] = [];
  for (const [name, filter] of Object.entries(filters)) {
    const latencies = new Latencies();
    for (let i = 0; i < rounds * PAGES_A_ROUND; i++) {
      const at = performance.now();
      await listEntries(pool, filter, { limit: 50 });
      latencies.add(performance.now() - at);
    }
    const { p50, p99 } = latencies.percentiles()!;
    rows.push([name, p50.toFixed(1), p99.toFixed(1)]);
  }
  return rows;
}
