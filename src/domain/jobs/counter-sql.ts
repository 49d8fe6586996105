import { END_COUNTERS } from '../../core/job-states.ts';
import type { Db } from '../../db/pool.ts';

/** The counters of an endpoint: the first four of the jobs it has now, the others of all jobs so far. */
export const JOB_COUNTERS = [
  'queued',
  'queued_low',
  'queued_bytes',
  'in_progress',
  ...END_COUNTERS,
  'retried',
] as const;
type JobCounter = (typeof JOB_COUNTERS)[number];

/**
 * Returns the statement that adds to the counters of endpoints in one lane. `from`: a CTE whose rows have an
 * `endpoint_id`. `lane`: SQL for the lane, which only one writer uses at a time, so that nobody waits for its row lock.
 * `deltas`: for each counter that changes, an SQL aggregate over the rows of an endpoint.
 */
export function addToCounters({
  from,
  lane,
  deltas,
}: {
  from: string;
  lane: string;
  deltas: Partial<Record<JobCounter, string>>;
}): string {
  const names = Object.keys(deltas);
  return `
    insert into endpoint_counters as k (endpoint_id, lane, ${names.join(', ')})
    select endpoint_id, ${lane}, ${Object.values(deltas).join(', ')} from ${from} group by endpoint_id
    on conflict (endpoint_id, lane) do update set ${names.map((name) => `${name} = k.${name} + excluded.${name}`).join(', ')}`;
}

/** Folds the counters of processes that are gone into one row per endpoint. */
export async function foldCounters(db: Db): Promise<void> {
  const sums = Object.fromEntries(JOB_COUNTERS.map((name) => [name, `sum(${name})`]));
  await db.query(
    `with gone as (
       delete from endpoint_counters k
       where lane <> 'folded' and split_part(lane, '/', 1) not in (select id from processes)
       returning *
     )
     ${addToCounters({ from: 'gone', lane: "'folded'", deltas: sums })}`,
  );
}
