import type { EndpointId } from '../../core/ids.ts';
import { FAILURE_SUM } from '../../core/job-states.ts';
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
