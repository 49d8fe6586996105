import type { Pool } from '../../db/pool.ts';

/** A smaller jump takes little of the default time to live, which is a day. */
const MIN_QUEUE_JUMP_MS = 3_600_000;
const QUEUED_AT_ONCE = 10_000;
/** A jump is seen within this time. What happened since has its time by the new clock. */
const SEEN_WITHIN_MS = 5_000;

/**
 * Moves the times of live jobs and workers by as much as the database's clock jumped, so that ages stay what they were: no execution
 * timeout, time to live, lease or idle time runs out, or starts over, because a clock was set or a machine slept. Of queued jobs with the
 * default time to live, only its end moves, and only if the clock skipped hours: there may be millions.
 */
export async function moveTimes(pool: Pool, byMs: number): Promise<void> {
  const isNew = (column: string) => `${column} between now() - d.since and now()`;
  const moveUnless = (column: string, condition: string) =>
    `${column} = case when ${condition} then ${column} else ${column} + d.by end`;
  const moved = (...columns: string[]) => columns.map((column) => moveUnless(column, isNew(column))).join(', ');
  await pool.query(
    `with d as (select $1::float8 * interval '1 millisecond' as by, $2::float8 * interval '1 millisecond' as since),
          jobs_moved as (update jobs set ${moved('created_at', 'started_at')}, ${moveUnless('expires_at', isNew('created_at'))} from d
                         where status = 'IN_PROGRESS' or has_own_ttl),
          activity_moved as (update worker_activity set ${moved('seen_at', 'last_work_at')} from d),
          stops_moved as (update job_stops set ${moved('created_at', 'told_at', 'obeyed_at')} from d)
     update workers set ${moved('created_at', 'started_at', 'ready_at', 'serving_at')},
       ${['drain_at', 'not_before'].map((due) => moveUnless(due, `d.by > interval '0' and ${due} > now()`)).join(', ')} from d
     where phase <> 'EXITED'`,
    [byMs, Math.min(SEEN_WITHIN_MS, Math.abs(byMs) / 2)],
  );
  if (byMs >= MIN_QUEUE_JUMP_MS) await moveQueue(pool, byMs);
}

async function moveQueue(pool: Pool, byMs: number): Promise<void> {
  const { rows: newest } = await pool.query<{ id: string | null }>('select max(id) as id from jobs');
  let after: string | null = '';
  while (after !== null) {
    const moved: { rows: { id: string | null }[] } = await pool.query(
      `with portion as materialized (select id from jobs where id > $2 and id <= $3 order by id limit ${QUEUED_AT_ONCE}),
            moved as (update jobs set expires_at = expires_at + $1::float8 * interval '1 millisecond'
                      where id = any(array(select id from portion)) and status || '' = 'IN_QUEUE' and not has_own_ttl)
       select max(id) as id from portion`,
      [byMs, after, newest[0]!.id],
    );
    after = moved.rows[0]!.id;
  }
}
