import type { Pool } from '../../db/pool.ts';

/**
 * Moves the times of live jobs and workers by as much as the database's clock jumped, so that ages stay what they were: no execution
 * timeout, time to live, lease or idle time runs out, or starts over, because a clock was set or a machine slept. Queued jobs with the
 * default time to live of a day stay as they are: there may be millions.
 */
export async function moveTimes(pool: Pool, byMs: number): Promise<void> {
  const moved = (...columns: string[]) => columns.map((column) => `${column} = ${column} + d.by`).join(', ');
  await pool.query(
    `with d as (select $1::float8 * interval '1 millisecond' as by),
          jobs_moved as (update jobs set ${moved('created_at', 'started_at', 'expires_at')} from d
                         where status = 'IN_PROGRESS' or has_own_ttl),
          activity_moved as (update worker_activity set ${moved('seen_at', 'last_work_at')} from d),
          stops_moved as (update job_stops set ${moved('created_at', 'told_at', 'obeyed_at')} from d)
     update workers set ${moved('created_at', 'drain_at', 'not_before', 'started_at', 'ready_at', 'serving_at')} from d
     where phase <> 'EXITED'`,
    [byMs],
  );
}
