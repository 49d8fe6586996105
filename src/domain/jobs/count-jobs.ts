import type { EndpointId } from '../../core/ids.ts';
import { END_COUNTERS, FAILURE_SUM } from '../../core/job-states.ts';
import type { Db } from '../../db/pool.ts';

/** `completed`, `failed` and `retried` count since the endpoint's creation. */
export interface JobCounts {
  completed: number;
  failed: number;
  inProgress: number;
  inQueue: number;
  retried: number;
}

/** Counts an endpoint's jobs from the counters, at a cost that does not grow with the queue. The caller checks ownership. */
export async function countJobs(db: Db, endpointId: EndpointId): Promise<JobCounts> {
  const result = await db.query<JobCounts>({
    name: 'endpoint-counts',
    text: `select coalesce(sum(completed), 0)::int8 as completed,
                  coalesce(sum(${FAILURE_SUM}), 0)::int8 as failed,
                  greatest(coalesce(sum(in_progress), 0), 0)::int8 as "inProgress",
                  greatest(coalesce(sum(queued + queued_low), 0), 0)::int8 as "inQueue",
                  coalesce(sum(retried), 0)::int8 as retried
           from endpoint_counters where endpoint_id = $1`,
    values: [endpointId],
  });
  return result.rows[0]!;
}

/** SQL: true while there is a job, or a worker that has not ended. */
export const HAS_WORK = "exists (select from jobs) or exists (select from workers where phase <> 'EXITED')";

/** Returns false at rest, when housekeeping may take its time. */
export async function hasWork(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ hasWork: boolean }>({
    name: 'is-working',
    text: `select ${HAS_WORK} as "hasWork"`,
  });
  return rows[0]!.hasWork;
}

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

/** SQL over the rows that change counters: how many there are, or the sum of a value, where a condition holds. */
export interface Aggregates {
  count: (where: string) => string;
  sum: (value: string, where: string) => string;
}
export const AGGREGATES: Aggregates = {
  count: (where) => `count(*) filter (where ${where})`,
  sum: (value, where) => `coalesce(sum(${value}) filter (where ${where}), 0)`,
};
/** The same over a single row, without the set-up of an aggregate. */
export const OF_ONE_ROW: Aggregates = {
  count: (where) => `(${where})::int`,
  sum: (value, where) => `(case when ${where} then ${value} else 0 end)`,
};

/**
 * Returns the statement that adds to the counters of endpoints in one lane. `from`: a CTE whose rows have an
 * `endpoint_id`. `lane`: SQL for the lane, which only one writer uses at a time, so that no writer waits for its row lock.
 * `deltas`: for each counter that changes, an SQL aggregate over the rows of an endpoint; with `isOneRow` an expression.
 */
export function addToCounters({
  from,
  lane,
  deltas,
  isOneRow = false,
}: {
  from: string;
  lane: string;
  deltas: Partial<Record<JobCounter, string>>;
  isOneRow?: boolean;
}): string {
  const names = Object.keys(deltas);
  return `
    insert into endpoint_counters as k (endpoint_id, lane, ${names.join(', ')})
    select endpoint_id, ${lane}, ${Object.values(deltas).join(', ')} from ${from}${isOneRow ? '' : ' group by endpoint_id'}
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
