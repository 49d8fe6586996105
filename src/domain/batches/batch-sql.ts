/**
 * What the statement that ends jobs does for those of a batch (domain/jobs/job-sql.ts): it keeps the result beside the batch
 * and counts it, so that a request ends exactly when its job does. `ended`: a CTE with the ended jobs; `lane`: as in
 * `addToCounters`.
 */
export function endBatchJobs(ended: string, lane: string): string {
  return `
  batched as (
    insert into batch_results (batch_id, number, status, output, error, worker_id, attempt, created_at, started_at, finished_at)
    select batch_id, batch_number, end_status, end_output, end_error, worker_id, attempt, created_at, started_at, now()
    from ${ended} where batch_id is not null
  ), batch_counted as (
    insert into batch_counters as k (batch_id, lane, completed, failed, cancelled, timed_out, executed, execution_ms)
    select batch_id, ${lane}, count(*) filter (where end_status = 'COMPLETED'),
           count(*) filter (where end_status = 'FAILED'), count(*) filter (where end_status = 'CANCELLED'),
           count(*) filter (where end_status = 'TIMED_OUT'), count(started_at),
           coalesce(sum(greatest(extract(epoch from now() - started_at) * 1000, 0)), 0)
    from ${ended} where batch_id is not null group by batch_id
    on conflict (batch_id, lane) do update set completed = k.completed + excluded.completed,
      failed = k.failed + excluded.failed, cancelled = k.cancelled + excluded.cancelled,
      timed_out = k.timed_out + excluded.timed_out, executed = k.executed + excluded.executed,
      execution_ms = k.execution_ms + excluded.execution_ms
  )`;
}
