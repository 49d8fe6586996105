import type { JobLimits } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { sqlState } from '../../db/sql-state.ts';
import { deleteOldBatches } from '../../domain/batches/delete-old-batches.ts';
import { deleteOldClusters } from '../../domain/clusters/cluster-lifecycle.ts';
import { deleteDecisionsOfGone } from '../../domain/decisions/record-decision.ts';
import { deleteDeadRequestDemand } from '../../domain/endpoints/request-demand.ts';
import { cancelJobsOfGone } from '../../domain/jobs/cancel-jobs.ts';
import { addToCounters, JOB_COUNTERS } from '../../domain/jobs/counter-sql.ts';
import { hasWork } from '../../domain/jobs/has-work.ts';
import { deleteOldWebhookRefusals } from '../../domain/jobs/webhook-refusals.ts';
import { deleteOldPods } from '../../domain/pods/pod-lifecycle.ts';
import { deleteOldLogUsage } from '../../domain/quotas/log-usage.ts';
import { deleteOldRateWindows } from '../../domain/rate-limits/count-requests.ts';
import { deleteOldSessions } from '../../domain/terminals/terminal-store.ts';

const TICK_MS = 60_000;
/** While there is neither work nor a worker. */
const REST_TICK_MS = 300_000;
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

/** SQL that adds up each counter. */
const SUMS = Object.fromEntries(JOB_COUNTERS.map((name) => [name, `sum(${name})`]));

type Retention = Pick<JobLimits, 'resultRetentionMs' | 'syncResultRetentionMs'>;

/**
 * Keeps the tables small: creates partitions of finished jobs ahead of need and drops each once all its rows have expired;
 * deletes everything else after its retention.
 */
export class Cleaner {
  readonly #deps: { pool: Pool; clock: Clock; limits: JobLimits };
  readonly #loop: Loop;

  constructor({ logger, ...deps }: { pool: Pool; clock: Clock; logger: Logger; limits: JobLimits }) {
    this.#deps = deps;
    this.#loop = new Loop({ name: 'clean-up', tickMs: REST_TICK_MS, logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun> {
    const { pool, clock, limits } = this.#deps;
    const now = clock.now();
    const endedBefore = new Date(now - limits.endedRetentionMs);
    await makePartitions(pool, limits, now);
    await this.#dropPartitions(now);
    await deleteOldLogUsage(pool);
    await this.#deleteOldJobs(now);
    await deleteOldBatches(pool, limits.batchRetentionMs);
    await this.#deleteOldWorkers(endedBefore);
    await deleteDecisionsOfGone(pool);
    await deleteDeadRequestDemand(pool);
    await deleteOldPods(pool, endedBefore);
    await deleteOldClusters(pool);
    await deleteOldSessions(pool);
    await deleteOldWebhookRefusals(pool);
    await deleteOldRateWindows(pool, new Date(now));
    await this.#foldCounters();
    await cancelJobsOfGone(pool);
    return { inMs: (await hasWork(pool)) ? TICK_MS : REST_TICK_MS };
  }

  async #dropPartitions(now: number): Promise<void> {
    const { pool } = this.#deps;
    const result = await pool.query<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'finished_jobs'::regclass and c.relname < $1 and c.relname <> 'finished_jobs_default'`,
      [partitionName(now - PARTITION_MS)],
    );
    for (const { name } of result.rows) await briefly(pool, (db) => db.query(`drop table if exists ${name}`));
  }

  async #deleteOldJobs(now: number): Promise<void> {
    const { pool, limits } = this.#deps;
    const resultsBefore = new Date(now - Math.max(limits.resultRetentionMs, limits.syncResultRetentionMs));
    await pool.query('delete from finished_jobs_default where keep_until < now()');
    await pool.query(
      `delete from job_chunks c where created_at < $1 and not exists (select from jobs j where j.id = c.job_id)
         and not exists (select from finished_jobs f where f.id = c.job_id and f.keep_until > now())`,
      [resultsBefore],
    );
    await pool.query(
      `delete from lost_attempts l where lost_at < $1 and not exists (select from jobs j where j.id = l.job_id)
         and not exists (select from finished_jobs f where f.id = l.job_id and f.keep_until > now())`,
      [resultsBefore],
    );
    await pool.query('delete from webhook_results where ended_at < $1', [resultsBefore]);
    await pool.query("delete from idempotency_keys where created_at < now() - interval '24 hours'");
    await pool.query(
      `delete from job_stops s where created_at < now() - interval '1 hour' and (obeyed_at is not null
         or not exists (select from workers w where w.id = s.worker_id and w.phase <> 'EXITED'))`,
    );
  }

  async #deleteOldWorkers(exitedBefore: Date): Promise<void> {
    const { pool } = this.#deps;
    await pool.query(
      `delete from workers
       where phase = 'EXITED' and exited_at < $1 and exited_at <= (select metered_until from usage_meter)`,
      [exitedBefore],
    );
    await pool.query(
      `delete from worker_activity a
       where not exists (select from workers w where w.id = a.worker_id and w.phase <> 'EXITED')`,
    ); // a last contact written after the worker's exit
  }

  /** Folds the counters of processes that are gone into one row per endpoint. */
  async #foldCounters(): Promise<void> {
    await this.#deps.pool.query(
      `with gone as (
         delete from endpoint_counters k
         where lane <> 'folded' and split_part(lane, '/', 1) not in (select id from processes)
         returning *
       )
       ${addToCounters({ from: 'gone', lane: "'folded'", deltas: SUMS })}`,
    );
  }
}

/** Names carry the start of the range, so they sort by time. */
function partitionName(from: number): string {
  return `finished_jobs_${new Date(from).toISOString().slice(0, 16).replace(/\D/g, '')}`;
}

/** Creates the partitions that results will need until well after the next run. */
export async function makePartitions(pool: Pool, limits: Retention, now: number): Promise<void> {
  const last = now + Math.max(limits.resultRetentionMs, limits.syncResultRetentionMs) + 2 * PARTITION_MS;
  for (let from = Math.floor(now / PARTITION_MS) * PARTITION_MS; from < last; from += PARTITION_MS) {
    const name = partitionName(from);
    const known = await pool.query('select from pg_class where relname = $1', [name]);
    if (known.rowCount === 0) await briefly(pool, (db) => makePartition(db, name, from, from + PARTITION_MS));
  }
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
