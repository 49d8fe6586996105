import type { JobLimits } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop } from '../../core/loop.ts';
import { type Db, type Pool, sqlState, transaction } from '../../db/pool.ts';
import { deleteDeadRequestDemand } from '../../domain/endpoints/request-demand.ts';
import { addToCounters, JOB_COUNTERS } from '../../domain/jobs/counter-sql.ts';
import { deleteOldLogLines } from '../../domain/logs/delete-old-log-lines.ts';
import { deleteOldPods } from '../../domain/pods/pod-lifecycle.ts';
import { deleteOldRateWindows } from '../../domain/rate-limits/count-requests.ts';

const TICK_MS = 60_000;
/** Results that expire in the same ten minutes share a partition. */
const PARTITION_MS = 600_000;
/** Lock not available; already there (table, name, partition); a result went to the default partition meanwhile. */
const LEFT_TO_THE_NEXT_RUN = new Set(['55P03', '42P07', '23505', '42809', '23514']);

/** SQL that adds up each counter. */
const SUMS = Object.fromEntries(JOB_COUNTERS.map((name) => [name, `sum(${name})`]));

type Retention = Pick<JobLimits, 'resultRetentionMs' | 'syncResultRetentionMs'>;

/**
 * Keeps the tables small: partitions of finished jobs are made ahead of need and dropped as a whole once every row in
 * them has expired; everything else that has a time is deleted after it.
 */
export class Cleaner {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #limits: JobLimits;
  readonly #loop: Loop;

  constructor(options: { pool: Pool; clock: Clock; logger: Logger; limits: JobLimits }) {
    this.#pool = options.pool;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#loop = new Loop({ name: 'clean-up', tickMs: TICK_MS, logger: options.logger, runOnce: () => this.#run() });
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

  async #run(): Promise<undefined> {
    const now = this.#clock.now();
    await makePartitions(this.#pool, this.#limits, now);
    await this.#dropPartitions(now);
    await deleteOldLogLines(this.#pool, new Date(now - this.#limits.logRetentionMs));
    await this.#deleteOld(now);
    await deleteOldPods(this.#pool, new Date(now - this.#limits.logRetentionMs));
    await deleteOldRateWindows(this.#pool, new Date(now));
    await this.#foldCounters();
    return undefined;
  }

  async #dropPartitions(now: number): Promise<void> {
    const result = await this.#pool.query<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'finished_jobs'::regclass and c.relname < $1 and c.relname <> 'finished_jobs_default'`,
      [partitionName(now - PARTITION_MS)],
    );
    for (const { name } of result.rows) await briefly(this.#pool, (db) => db.query(`drop table if exists ${name}`));
  }

  async #deleteOld(now: number): Promise<void> {
    const resultsBefore = new Date(now - Math.max(this.#limits.resultRetentionMs, this.#limits.syncResultRetentionMs));
    await this.#pool.query('delete from finished_jobs_default where keep_until < now()');
    await this.#pool.query(
      `delete from job_chunks c where created_at < $1 and not exists (select from jobs j where j.id = c.job_id)
         and not exists (select from finished_jobs f where f.id = c.job_id and f.keep_until > now())`,
      [resultsBefore],
    );
    await this.#pool.query("delete from idempotency_keys where created_at < now() - interval '24 hours'");
    await this.#pool.query(
      `delete from workers
       where phase = 'EXITED' and exited_at < $1 and exited_at <= (select metered_until from usage_meter)`,
      [new Date(now - this.#limits.logRetentionMs)],
    );
    await this.#pool.query(
      `delete from worker_activity a
       where not exists (select from workers w where w.id = a.worker_id and w.phase <> 'EXITED')`,
    ); // a last contact that was written after the worker's end
    await this.#pool.query(
      `delete from lost_attempts l where lost_at < $1 and not exists (select from jobs j where j.id = l.job_id)
         and not exists (select from finished_jobs f where f.id = l.job_id and f.keep_until > now())`,
      [resultsBefore],
    );
    await this.#pool.query("delete from job_stops where created_at < now() - interval '1 hour'");
    await deleteDeadRequestDemand(this.#pool);
  }

  /** Adds the counters of processes that are gone to one row an endpoint, and forgets those of deleted endpoints. */
  async #foldCounters(): Promise<void> {
    await this.#pool.query(
      `with gone as (
         delete from endpoint_counters k
         where lane <> 'folded' and split_part(lane, '/', 1) not in (select id from processes)
         returning *
       )
       ${addToCounters({ from: 'gone', lane: "'folded'", deltas: SUMS })}`,
    );
    await this.#pool.query(
      'delete from endpoint_counters k where not exists (select from endpoints e where e.id = k.endpoint_id)',
    );
  }
}

/** The name says when the partition begins; names sort by time. */
function partitionName(from: number): string {
  return `finished_jobs_${new Date(from).toISOString().slice(0, 16).replace(/\D/g, '')}`;
}

/** Makes the partitions that results will go to until well after the next run. */
export async function makePartitions(pool: Pool, limits: Retention, now: number): Promise<void> {
  const last = now + Math.max(limits.resultRetentionMs, limits.syncResultRetentionMs) + 2 * PARTITION_MS;
  for (let from = Math.floor(now / PARTITION_MS) * PARTITION_MS; from < last; from += PARTITION_MS) {
    const name = partitionName(from);
    const known = await pool.query('select from pg_class where relname = $1', [name]);
    if (known.rowCount === 0) await briefly(pool, (db) => makePartition(db, name, from, from + PARTITION_MS));
  }
}

/**
 * A range of which results went to the default partition, because nobody made its own in time, stays there until they
 * have expired: moved to a new one, they could not be seen by statements that were planned before.
 */
async function makePartition(db: Db, name: string, from: number, to: number): Promise<void> {
  const [start, end] = [new Date(from).toISOString(), new Date(to).toISOString()];
  const stray = await db.query('select from finished_jobs_default where keep_until >= $1 and keep_until < $2 limit 1', [
    start,
    end,
  ]);
  if (stray.rowCount !== 0) return;
  await db.query(`create table ${name} (like finished_jobs including all)`);
  await db.query(`alter table finished_jobs attach partition ${name} for values from ('${start}') to ('${end}')`);
}

/**
 * A change of the table's shape waits for a lock only briefly, or every statement of the queue would wait behind it. The
 * next run tries again what could not be locked or what another process did at the same moment.
 */
async function briefly(pool: Pool, work: (db: Db) => Promise<unknown>): Promise<void> {
  try {
    await transaction(pool, async (db) => {
      await db.query("set local lock_timeout = '200ms'");
      await work(db);
    });
  } catch (error) {
    if (!LEFT_TO_THE_NEXT_RUN.has(sqlState(error) ?? '')) throw error;
  }
}
