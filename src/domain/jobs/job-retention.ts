/** Partitions of finished jobs, and the deletion of what is kept with them. */
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { sqlState } from '../../db/sql-state.ts';

/** Results that expire within the same ten minutes share a partition. */
const PARTITION_MS = 600_000;
/**
 * Rows up to a page stay in one piece and uncompressed, as in `jobs`, whose settings LIKE does not copy. No vacuum for inserted rows:
 * it would only mark pages of a table that is soon dropped. Statistics follow when the rows have doubled.
 */
const PARTITION_STORAGE =
  'toast_tuple_target = 8160, autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 1';
/** Lock not available; table, name or partition exists; a result went to the default partition meanwhile. */
const RETRIED_NEXT_RUN = new Set(['55P03', '42P07', '23505', '42809', '23514']);

/** How long results of /run and of /runsync are kept. */
interface Retention {
  resultRetentionMs: number;
  syncResultRetentionMs: number;
}

/** Names carry the start of the range, so they sort by time. */
function partitionName(from: number): string {
  return `finished_jobs_${new Date(from).toISOString().slice(0, 16).replace(/\D/g, '')}`;
}

/** Creates the partitions that results will need until well after the next run. */
export async function makePartitions(pool: Pool, limits: Retention, now: number): Promise<void> {
  const last = now + Math.max(limits.resultRetentionMs, limits.syncResultRetentionMs) + 2 * PARTITION_MS;
  const wanted = new Map<string, number>();
  for (let from = Math.floor(now / PARTITION_MS) * PARTITION_MS; from < last; from += PARTITION_MS) {
    wanted.set(partitionName(from), from);
  }
  const names = [...wanted.keys()];
  const known = await pool.query<{ name: string }>('select relname as name from pg_class where relname = any($1)', [
    names,
  ]);
  for (const { name } of known.rows) wanted.delete(name);
  for (const [name, from] of wanted) await briefly(pool, (db) => makePartition(db, name, from, from + PARTITION_MS));
}

/**
 * Skips a range with results in the default partition, where they go when theirs was not created in time. They stay there until
 * they expire: statements planned before a move would not see them in the new partition.
 */
async function makePartition(db: Db, name: string, from: number, to: number): Promise<void> {
  const [start, end] = [new Date(from).toISOString(), new Date(to).toISOString()];
  const misplaced = await db.query(
    'select from finished_jobs_default where keep_until >= $1 and keep_until < $2 limit 1',
    [start, end],
  );
  if (misplaced.rowCount !== 0) return;
  await db.query(`create table ${name} (like finished_jobs including all) with (${PARTITION_STORAGE})`);
  await db.query(`alter table finished_jobs attach partition ${name} for values from ('${start}') to ('${end}')`);
}

/**
 * Runs DDL with a short lock timeout: every statement of the queue waits behind a waiting DDL statement. The next run tries
 * again what could not be locked or what another process did at the same moment.
 */
async function briefly(pool: Pool, work: (db: Db) => Promise<unknown>): Promise<void> {
  try {
    await transaction(pool, async (db) => {
      await db.query("set local lock_timeout = '200ms'");
      await work(db);
    });
  } catch (error) {
    if (!RETRIED_NEXT_RUN.has(sqlState(error) ?? '')) throw error;
  }
}

/** Drops each partition once all its rows have expired. */
export async function dropPartitions(pool: Pool, now: number): Promise<void> {
  const result = await pool.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'finished_jobs'::regclass and c.relname < $1 and c.relname <> 'finished_jobs_default'`,
    [partitionName(now - PARTITION_MS)],
  );
  for (const { name } of result.rows) await briefly(pool, (db) => db.query(`drop table if exists ${name}`));
}

/** Deletes what is kept beside jobs and was not needed for the results' retention, and results outside of partitions. */
export async function deleteOldJobRows(db: Db, limits: Retention, now: number): Promise<void> {
  const resultsBefore = new Date(now - Math.max(limits.resultRetentionMs, limits.syncResultRetentionMs));
  await db.query('delete from finished_jobs_default where keep_until < now()');
  await db.query(
    `delete from job_chunks c where created_at < $1 and not exists (select from jobs j where j.id = c.job_id)
       and not exists (select from finished_jobs f where f.id = c.job_id and f.keep_until > now())`,
    [resultsBefore],
  );
  await db.query(
    `delete from lost_attempts l where lost_at < $1 and not exists (select from jobs j where j.id = l.job_id)
       and not exists (select from finished_jobs f where f.id = l.job_id and f.keep_until > now())`,
    [resultsBefore],
  );
  await db.query('delete from webhook_results where ended_at < $1', [resultsBefore]);
  await db.query("delete from idempotency_keys where created_at < now() - interval '24 hours'");
  await db.query(
    `delete from job_stops s where created_at < now() - interval '1 hour' and (obeyed_at is not null
       or not exists (select from workers w where w.id = s.worker_id and w.phase <> 'EXITED'))`,
  );
}
