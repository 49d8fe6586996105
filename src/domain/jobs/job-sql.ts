import { countEnds, FAILED_ENDS } from '../../core/job-states.ts';
import { TRACEPARENT_OF_EXTRAS } from '../../core/trace-context.ts';
import { endBatchJobs } from '../batches/batch-sql.ts';
import { AGGREGATES, addToCounters, OF_ONE_ROW } from './count-jobs.ts';
import {
  CLEAR_PROGRESS,
  ENDED_RESULT,
  endedWith,
  FINISHED_RESULT,
  INPUT,
  inputBytes,
  inputOf,
  LIVE_RESULT,
  RESULT,
} from './payloads.ts';

/**
 * The queue's statements, as text. Four rules hold for all of them:
 * - A job is in `jobs` while it is queued or leased and in `finished_jobs` afterwards. One statement moves it, so no
 *   reader ever sees it twice or not at all.
 * - The endpoint's counters change in the same statement, in a row that only this lane of this process writes. So they
 *   are exact after any crash, and nobody waits for a lock on them.
 * - Only the holder of a lease (`worker_id` while IN_PROGRESS) may change a leased job: the fence against late results.
 * - A plan is made once, from statistics of any age. So each scan of `jobs` can use only the index that is right at a million
 *   rows (job-plans.slow.test.ts). A job is looked up by `id = any(array…)`: for a join on `=`, a plan may walk the whole key
 *   in its order. Where a condition must not suggest jobs_leased or jobs_queue, it is an expression: `status || ''`.
 */

const BYTES = inputBytes();

/** The counters that jobs raise by being queued. */
const QUEUED = {
  queued: 'count(*) filter (where not low_priority)',
  queued_low: 'count(*) filter (where low_priority)',
  queued_bytes: 'sum(bytes)',
};

/** Milliseconds between two times. `extract` would calculate with decimal digits. */
const MS = (from: string, to: string) => `date_part('epoch', ${to} - ${from}) * 1000`;
/** The same of a job's wait and run: never negative, whatever the clock does. */
const WAITED_MS = (to: string) => `greatest(${MS('created_at', to)}, 0)`;
const RAN_MS = (to: string) => `case when started_at is not null then greatest(${MS('started_at', to)}, 0) end`;

/**
 * Leases the oldest queued jobs, normal ones before low-priority ones, to the requested slots. $1: endpoints, each once; $2: how
 * many slots each has; $3: where its first one is in $4, the workers of all slots; $5: the counter lane. The caller orders a
 * worker's jobs by `n`: a sort here would copy their payloads.
 * Served by jobs_queue: the lateral scan walks the index in order and stops at the number of slots; SKIP LOCKED passes
 * over jobs that another process is taking.
 */
export const TAKE = `
  with picked as (
    select q.id, q.n, ($4::text[])[need.start + q.n] as worker_id
    from unnest($1::text[], $2::bigint[], $3::bigint[]) as need(endpoint_id, slots, start)
    cross join lateral (
      select head.id, row_number() over () as n from (
        select j.id from jobs j
        where j.endpoint_id = need.endpoint_id and j.status = 'IN_QUEUE' and j.expires_at > now()
        order by j.low_priority, j.created_at, j.seq limit need.slots for update skip locked
      ) head
    ) q
  ), taken as (
    update jobs j set status = 'IN_PROGRESS', worker_id = p.worker_id, attempt = j.attempt + 1, started_at = now()
    from picked p where j.id = any(array[p.id])
    returning j.id, j.endpoint_id, j.worker_id, ${inputOf('j')}, j.low_priority, p.n
  ), counted as (${addToCounters({
    from: 'taken',
    lane: '$5',
    deltas: {
      queued: '-count(*) filter (where not low_priority)',
      queued_low: '-count(*) filter (where low_priority)',
      queued_bytes: `-sum(${BYTES})`,
      in_progress: 'count(*)',
    },
  })}
  )
  select id, worker_id as "workerId", ${INPUT}, n from taken`;

/**
 * The common part of all statements that end jobs. `ended`: a CTE that deletes rows from `jobs` and returns them with
 * `end_status`, `end_output` and `end_error`. `mayHaveMore`: jobs may have a webhook or belong to a batch. `isOneRow`: it is one job at most. $1: retention of /run results in ms; $2: of /runsync results; $3: the
 * counter lane.
 */
export function endJobs(ended: string, { mayHaveMore = true, isOneRow = false } = {}): string {
  const { count, sum } = isOneRow ? OF_ONE_ROW : AGGREGATES;
  const more = mayHaveMore
    ? `hooked as (
    insert into webhook_deliveries (job_id, endpoint_id, url)
    select id, endpoint_id, webhook from ended where webhook is not null
  ), ${endBatchJobs('ended', '$3')}, `
    : '';
  return `
  with ended as (${ended}), kept as (
    insert into finished_jobs (id, keep_until, endpoint_id, status, low_priority, is_sync, ${INPUT}, webhook,
                               execution_timeout_ms, ttl_ms, worker_id, attempt, created_at, started_at, finished_at,
                               ${RESULT})
    select id, now() + (case when is_sync then $2::float8 else $1::float8 end) * interval '1 millisecond', endpoint_id,
           end_status, low_priority, is_sync, ${INPUT}, webhook, execution_timeout_ms,
           round(${MS('created_at', 'expires_at')}), worker_id, attempt, created_at, started_at, now(),
           ${ENDED_RESULT}
    from ended
  ), ${more}counted as (${addToCounters({
    from: 'ended',
    lane: '$3',
    isOneRow,
    deltas: {
      queued: `-${count("status = 'IN_QUEUE' and not low_priority")}`,
      queued_low: `-${count("status = 'IN_QUEUE' and low_priority")}`,
      queued_bytes: `-${sum(BYTES, "status = 'IN_QUEUE'")}`,
      in_progress: `-${count("status = 'IN_PROGRESS'")}`,
      ...countEnds('end_status', count),
    },
  })}
  )`;
}

const RETRIES = 'greatest(attempt - 1, 0) as retries';

/** The columns of an EndedJob. */
export const endedView = (output: string) => `
  select id, endpoint_id as "endpointId", end_status as status,
         ${WAITED_MS('coalesce(started_at, now())')} as "delayTimeMs",
         ${RAN_MS('now()')} as "executionTimeMs", worker_id as "workerId", ${output} as output,
         end_error as error, ${RETRIES}, waiter, webhook is not null as "hasWebhook",
         ${TRACEPARENT_OF_EXTRAS} as traceparent
  from ended`;
const ENDED_VIEW = endedView('end_output');

/** Orders the worker to stop a leased job that was ended by another party, such as a client. */
const STOP_ORDERS = `, ordered as (
    insert into job_stops (worker_id, job_id) select worker_id, id from ended where status = 'IN_PROGRESS'
    on conflict (worker_id, job_id) do update set created_at = now(), told_at = null, obeyed_at = null
  )`;

/** $4 job, $5 endpoint. */
export const CANCEL = `${endJobs(`
    delete from jobs where id = $4 and endpoint_id = $5
    returning *, ${endedWith("'CANCELLED'")}`)}${STOP_ORDERS}
  ${ENDED_VIEW}`;

/** $4 job, $5 the worker that must hold it, $6 why. */
export const FAIL_RUNNING = `${endJobs(`
    delete from jobs where id = $4 and worker_id = $5 and status || '' = 'IN_PROGRESS'
    returning *, ${endedWith("'FAILED'", { error: '$6::text' })}`)}${STOP_ORDERS}
  ${ENDED_VIEW}`;

/**
 * $4 endpoint: all its jobs, because it is being deleted. Served by jobs_queue, and by jobs_leased, where it reads the
 * leases of all endpoints: an index of all jobs by endpoint would cost each job more.
 */
export const CANCEL_ALL = `${endJobs(`
    delete from jobs where id = any(array(
      select id from jobs where endpoint_id = $4 and status = 'IN_QUEUE'
      union all select id from jobs where endpoint_id || '' = $4 and status = 'IN_PROGRESS'))
    returning *, ${endedWith("'CANCELLED'")}`)}${STOP_ORDERS}
  ${ENDED_VIEW}`;

/**
 * When the newest job of an endpoint's queue was created, as text, which keeps its microseconds; or null. $1 endpoint. Reads
 * the last entry of each priority in jobs_queue.
 */
export const NEWEST_QUEUED = `
  select max(last.created_at)::text as at from (values (false), (true)) as priority(is_low)
  cross join lateral (
    select created_at from jobs where endpoint_id = $1 and status = 'IN_QUEUE' and low_priority = priority.is_low
    order by created_at desc, seq desc limit 1
  ) last`;

/**
 * $4 endpoint, $5 purge jobs created until then, as text, $6 limit: a slice of the queue, in index order. A batch keeps its
 * jobs: only a part of it would be cancelled.
 */
export const PURGE = `${endJobs(`
    delete from jobs where id = any(array(
      select id from jobs where endpoint_id = $4 and status = 'IN_QUEUE' and created_at <= $5::text::timestamptz and batch_id is null
      order by low_priority, created_at, seq limit $6 for update skip locked))
    returning *, ${endedWith("'CANCELLED'")}`)}
  ${ENDED_VIEW}`;

/** The queued jobs of a batch: $4. Served by jobs_of_batch. */
export const CANCEL_BATCH = `${endJobs(`
    delete from jobs where id = any(array(
      select id from jobs where batch_id = $4 and status = 'IN_QUEUE' for update skip locked))
    returning *, ${endedWith("'CANCELLED'")}`)}
  ${ENDED_VIEW}`;

/** Queued jobs past their time to live; $4 limit; $5: none after this time in ms, or null. Served by jobs_expiry, which no other statement can use. */
export const EXPIRE_QUEUED = `${endJobs(`
    delete from jobs where id = any(array(
      select id from jobs where worker_id is null and status || '' = 'IN_QUEUE' and expires_at <= now()
        and ($5::float8 is null or clock_timestamp() < to_timestamp($5 / 1000))
      order by expires_at limit $4 for update skip locked))
    returning *, ${endedWith("'TIMED_OUT'", {
      error: "'the job waited in the queue longer than its time to live (policy.ttl)'",
    })}`)}
  ${ENDED_VIEW}`;

const RAN_TOO_LONG = `coalesce(execution_timeout_ms, (select nullif(e.timeout_ms, 0) from endpoints e where e.id = endpoint_id))
      * interval '1 millisecond' + started_at <= least(now(), expires_at)`;

/**
 * Leased jobs past their execution timeout (their own, else the endpoint's current one; 0: none) or past their time to live,
 * whichever came first. $4: only those leased in the last so many milliseconds, or null for all; $5: none after this time in
 * ms, or null.
 */
export const EXPIRE_RUNNING = `${endJobs(`
    delete from jobs where id = any(array(
      select j.id from jobs j left join endpoints e on e.id = j.endpoint_id
      where j.status = 'IN_PROGRESS'
        and least(j.expires_at, j.started_at
                  + coalesce(j.execution_timeout_ms, nullif(e.timeout_ms, 0)) * interval '1 millisecond') <= now()
        and ($4::float8 is null or j.started_at > now() - $4 * interval '1 millisecond')
        and ($5::float8 is null or clock_timestamp() < to_timestamp($5 / 1000))
      for update of j skip locked))
    returning *, ${endedWith(`case when ${RAN_TOO_LONG} then 'FAILED' else 'TIMED_OUT' end`, {
      error: `case when ${RAN_TOO_LONG} then 'executionTimeout exceeded'
           else 'the job was still running at the end of its time to live (policy.ttl)' end`,
    })}`)}${STOP_ORDERS}
  ${ENDED_VIEW}`;

/** Leased jobs of lost workers ($4) that have no retries left ($5: allowed retries). */
export const FAIL_LOST = `${endJobs(`
    delete from jobs where status = 'IN_PROGRESS' and worker_id = any($4::text[]) and attempt > $5
    returning *, ${endedWith("'FAILED'", { error: "'job timed out after ' || (attempt - 1) || ' retries'" })}`)}
  ${ENDED_VIEW}`;

/**
 * Requeues leased jobs at their old position: $1 job ids, or null for all; $2 workers; $3 true if this counts as a retry
 * (the worker had the job and was lost), false if the job never reached the worker; $4 the counter lane; $5 allowed
 * retries. A job without retries left that the lost worker took after FAIL_LOST stays leased until the next rescue.
 */
export const RELEASE = `
  with back as (
    update jobs set status = 'IN_QUEUE', worker_id = null, started_at = null, ${CLEAR_PROGRESS},
      attempt = attempt - case when $3 then 0 else 1 end
    where status = 'IN_PROGRESS' and worker_id = any($2::text[]) and ($1::text[] is null or id = any($1::text[]))
      and (not $3 or attempt <= $5)
    returning id, endpoint_id, low_priority, ${BYTES} as bytes
  ), cleared as (delete from job_chunks where job_id = any(array(select id from back))
  ), lost as (
    insert into lost_attempts (job_id, attempt, worker_id, started_at)
    select j.id, j.attempt, j.worker_id, j.started_at from jobs j where $3 and j.id = any(array(select id from back))
    on conflict (job_id, attempt) do nothing
  ), counted as (${addToCounters({
    from: 'back',
    lane: '$4',
    deltas: {
      ...QUEUED,
      in_progress: '-count(*)',
      retried: 'case when $3 then count(*) else 0 end',
    },
  })}
  )
  select id, endpoint_id as "endpointId" from back`;

/** Requeues a finished job with the same id and input, as if never tried. $1 job, $2 endpoint, $3 the counter lane. */
export const RETRY = `
  with again as (
    delete from finished_jobs where id = $1 and endpoint_id = $2 and status in (${FAILED_ENDS.map((status) => `'${status}'`).join(', ')}) and keep_until > now()
    returning *
  ), back as (
    insert into jobs (id, endpoint_id, status, low_priority, is_sync, ${INPUT}, webhook, execution_timeout_ms,
                      expires_at, has_own_ttl)
    select id, endpoint_id, 'IN_QUEUE', low_priority, is_sync, ${INPUT}, webhook, execution_timeout_ms,
           now() + ttl_ms * interval '1 millisecond', true
    from again
    returning id, endpoint_id, low_priority, ${BYTES} as bytes
  ), cleared as (delete from job_chunks where job_id = any(array(select id from back))
  ), forgotten as (delete from lost_attempts where job_id = any(array(select id from back))
  ), counted as (${addToCounters({
    from: 'back',
    lane: '$3',
    deltas: {
      ...QUEUED,
      retried: 'count(*)',
    },
  })}
  )
  select id from back`;

/**
 * Queues a copy of a job, whatever its state, under a new id. $1 job, $2 endpoint, $3 the counter lane, $4 the new id. What is
 * changed, or null: $5 input, $6 execution timeout, $7 time to live, $8 low priority; $9: whether $10 is the new webhook. The
 * payload is copied by the database and never read.
 */
export const RESUBMIT = `
  with source as (
    select endpoint_id, low_priority, ${INPUT}, webhook, execution_timeout_ms,
           round(extract(epoch from expires_at - created_at) * 1000)::bigint as ttl_ms
    from jobs where id = any(array[$1]) and endpoint_id || '' = $2
    union all
    select endpoint_id, low_priority, ${INPUT}, webhook, execution_timeout_ms, ttl_ms
    from finished_jobs where id = $1 and endpoint_id || '' = $2 and keep_until > now()
  ), new as (
    insert into jobs (id, endpoint_id, status, low_priority, is_sync, ${INPUT}, webhook, execution_timeout_ms,
                      expires_at, has_own_ttl)
    select $4, endpoint_id, 'IN_QUEUE', coalesce($8::boolean, low_priority), false, coalesce($5::text, input), extras,
           case when $9::boolean then $10::text else webhook end, coalesce($6::bigint, execution_timeout_ms),
           now() + coalesce($7::bigint, ttl_ms) * interval '1 millisecond', true
    from source limit 1
    returning id, endpoint_id, low_priority, ${BYTES} as bytes
  ), counted as (${addToCounters({ from: 'new', lane: '$3', deltas: QUEUED })}
  )
  select id from new`;

/** The columns of a JobView; $1 job ids. One snapshot of both tables: a job that ends meanwhile is in exactly one. */
export const STATUS = `
  select id, endpoint_id as "endpointId", status,
         case when started_at is not null then ${WAITED_MS('started_at')} end as "delayTimeMs",
         ${RAN_MS('now()')} as "executionTimeMs", worker_id as "workerId", ${LIVE_RESULT},
         ${RETRIES}
  from jobs where id = any($1::text[])
  union all
  select id, endpoint_id, status, ${WAITED_MS('coalesce(started_at, finished_at)')},
         ${RAN_MS('finished_at')}, worker_id, ${FINISHED_RESULT}, ${RETRIES}
  from finished_jobs where id = any($1::text[]) and keep_until > now()`;
