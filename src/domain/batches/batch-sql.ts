import { countEnds } from '../../core/job-states.ts';
import { AGGREGATES } from '../jobs/count-jobs.ts';
import { ENDED_RESULT, RESULT } from '../jobs/payloads.ts';

/** The counters of a batch, each with an SQL aggregate over jobs that end. */
const SUMS = {
  ...countEnds('end_status', AGGREGATES.count),
  executed: 'count(started_at)',
  execution_ms: 'coalesce(sum(greatest(extract(epoch from now() - started_at) * 1000, 0)), 0)',
};

/**
 * The part for batches of the statement that ends jobs (domain/jobs/job-sql.ts): it keeps the result beside the batch
 * and counts it, so that a request ends exactly when its job does. `ended`: a CTE with the ended jobs; `lane`: as in
 * `addToCounters`.
 */
export function endBatchJobs(ended: string, lane: string): string {
  return `
  batched as (
    insert into batch_results (batch_id, number, status, ${RESULT}, worker_id, attempt, created_at, started_at, finished_at)
    select batch_id, batch_number, end_status, ${ENDED_RESULT}, worker_id, attempt, created_at, started_at, now()
    from ${ended} where batch_id is not null
  ), batch_counted as (
    insert into batch_counters as k (batch_id, lane, ${Object.keys(SUMS).join(', ')})
    select batch_id, ${lane}, ${Object.values(SUMS).join(', ')} from ${ended} where batch_id is not null group by batch_id
    on conflict (batch_id, lane) do update set ${Object.keys(SUMS)
      .map((name) => `${name} = k.${name} + excluded.${name}`)
      .join(', ')}
  )`;
}
