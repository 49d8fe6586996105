/** The statements that insert jobs, as text, by the rules of job-sql.ts. */
import { rowOfValues, rowsOfArrays } from '../../db/arrays.ts';
import { AGGREGATES, addToCounters, OF_ONE_ROW } from './count-jobs.ts';
import { INPUT, inputBytes, inputOf } from './payloads.ts';

/** The columns of a submitted job, in the order of their parameters. */
const SUBMITTED = {
  ...{ id: 'text', endpoint_id: 'text', low_priority: 'boolean', is_sync: 'boolean', input: 'text', extras: 'text' },
  ...{ webhook: 'text', execution_timeout_ms: 'bigint', ttl_ms: 'bigint', has_own_ttl: 'boolean', worker_id: 'text' },
  waiter: 'text',
};
/** `from`: the rows `c` whose endpoint there is. */
const submit = (from: string, isOneRow = false) => {
  const { count, sum } = isOneRow ? OF_ONE_ROW : AGGREGATES;
  return `
  with new as (
    insert into jobs (id, endpoint_id, status, low_priority, is_sync, ${INPUT}, webhook, execution_timeout_ms,
                      expires_at, has_own_ttl, worker_id, attempt, started_at, waiter)
    select c.id, c.endpoint_id, case when c.worker_id is null then 'IN_QUEUE' else 'IN_PROGRESS' end,
           coalesce(c.low_priority, false), coalesce(c.is_sync, false), ${inputOf('c')}, c.webhook, c.execution_timeout_ms,
           now() + c.ttl_ms * interval '1 millisecond', coalesce(c.has_own_ttl, false), c.worker_id,
           case when c.worker_id is null then 0 else 1 end, case when c.worker_id is null then null else now() end, c.waiter
    from ${from}
    returning endpoint_id, status, low_priority, ${inputBytes()} as bytes
  )${addToCounters({
    from: 'new',
    lane: '$13',
    isOneRow,
    deltas: {
      queued: count("status = 'IN_QUEUE' and not low_priority"),
      queued_low: count("status = 'IN_QUEUE' and low_priority"),
      queued_bytes: sum('bytes', "status = 'IN_QUEUE'"),
      in_progress: count("status = 'IN_PROGRESS'"),
    },
  })} returning endpoint_id as "endpointId"`;
};

/**
 * Inserts jobs. An array may be null when none of them has its value. A job with a worker is committed as IN_PROGRESS: leased without
 * ever being in the queue. Returns the endpoints whose jobs were inserted: those of a deleted one are not. $14 are the endpoints of all jobs,
 * each once.
 */
export const SUBMIT = submit(
  `${rowsOfArrays(SUBMITTED, 1)} c
    where c.endpoint_id = any(array(select e.id from endpoints e where e.id = any($14::text[])))`,
);
/** One job, whose values are parameters. */
export const SUBMIT_ONE = submit(`${rowOfValues(SUBMITTED, 1)} c join endpoints e on e.id = c.endpoint_id`, true);
