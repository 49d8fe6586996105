import type { EndpointId, UserId } from '../../core/ids.ts';
import { bigintArray } from '../../db/arrays.ts';
import type { Db } from '../../db/pool.ts';
import type { BudgetStop } from '../../scaling/because.ts';
import { STOP_OF_ENDPOINT } from '../budgets/budget-sql.ts';
import { addToCounters } from '../jobs/count-jobs.ts';
import { INPUT, inputBytes, inputOf } from '../jobs/payloads.ts';
import { setLimitsColumns } from '../quotas/limit-store.ts';
import type { OwnLimits } from '../quotas/limits.ts';
import type { BatchId, Measured } from './batch.ts';

/** A FINALIZED batch, as control sees it: what is left to do, and what holds it up. */
export interface RunningBatch {
  id: BatchId;
  endpointId: EndpointId;
  userId: UserId;
  isOrdered: boolean;
  isPaused: boolean;
  isCancelling: boolean;
  reason: string | null;
  hasEstimate: boolean;
  received: number;
  accepted: number;
  fedTo: number;
  fed: number;
  /** Jobs in the low-priority queue, jobs in the normal queue because they waited too long, and jobs at workers. */
  queued: number;
  aged: number;
  leased: number;
  /** When the first job of the low-priority queue was queued. */
  oldestQueuedAt: Date | null;
  completed: number;
  /** Requests that a worker has had, and how long all of them took. */
  executed: number;
  executionMs: number;
  workersMax: number;
  budget: BudgetStop | null;
  /** Running batches of the endpoint that may run. */
  siblings: number;
  /** Jobs that the user has queued on all endpoints, batches included. */
  userQueued: number;
  userQueuedBytes: number;
  ownLimits: OwnLimits;
  defaultLimits: OwnLimits;
}

/**
 * Reads the running batches of some endpoints, or of all (null), oldest first. Served by batches_running; the jobs of a batch
 * are few, because it is fed in portions.
 */
export async function listRunningBatches(db: Db, endpointIds: readonly EndpointId[] | null): Promise<RunningBatch[]> {
  const { rows } = await db.query<RunningBatch>({
    name: endpointIds === null ? 'batches-running' : 'batches-running-of',
    text: `
      with running as (
        select b.*, count(*) filter (where not is_paused and cancelled_at is null) over (partition by endpoint_id) as siblings
        from batches b where status = 'FINALIZED' ${endpointIds === null ? '' : 'and endpoint_id = any($1::text[])'}
      ), users as (
        select u.user_id, coalesce(sum(k.queued + k.queued_low), 0)::int8 as jobs, coalesce(sum(k.queued_bytes), 0)::int8 as bytes
        from (select distinct user_id from running) u
        join endpoints o on o.user_id = u.user_id join endpoint_counters k on k.endpoint_id = o.id group by 1
      )
      select b.id, b.endpoint_id as "endpointId", b.user_id as "userId", b.is_ordered as "isOrdered", b.is_paused as "isPaused",
             b.cancelled_at is not null as "isCancelling", b.reason, b.estimate is not null as "hasEstimate",
             b.received, b.accepted, b.fed_to as "fedTo", b.fed, b.siblings,
             j.queued, j.aged, j.leased, j.oldest as "oldestQueuedAt",
             c.completed, c.executed, c.execution_ms as "executionMs", e.workers_max as "workersMax",
             ${STOP_OF_ENDPOINT} as budget,
             coalesce(u.jobs, 0)::int8 as "userQueued", coalesce(u.bytes, 0)::int8 as "userQueuedBytes",
             ${setLimitsColumns('b.user_id')}
      from running b join endpoints e on e.id = b.endpoint_id
      left join users u on u.user_id = b.user_id
      cross join lateral (
        select count(*) filter (where status = 'IN_QUEUE' and low_priority) as queued,
               count(*) filter (where status = 'IN_QUEUE' and not low_priority) as aged,
               count(*) filter (where status = 'IN_PROGRESS') as leased,
               min(created_at) filter (where status = 'IN_QUEUE' and low_priority) as oldest
        from jobs where batch_id = b.id) j
      cross join lateral (
        select coalesce(sum(completed), 0)::int8 as completed, coalesce(sum(executed), 0)::int8 as executed,
               coalesce(sum(execution_ms), 0)::float8 as execution_ms
        from batch_counters where batch_id = b.id) c
      order by b.finalized_at, b.id`,
    values: endpointIds === null ? [] : [endpointIds],
  });
  return rows;
}

/** The next requests of a batch to become jobs. */
export interface FeedOrder {
  id: BatchId;
  /** How far the batch was fed when this was decided: another process may have fed it since. */
  fedTo: number;
  /** The requests' numbers, in the order in which they are to start. Numbers without a request are passed over. */
  numbers: readonly number[];
  /** How many bytes they may have together; the first one may have more. */
  maxBytes: number;
}

/**
 * Queues requests of a batch as low-priority jobs, in one statement: each becomes a job once, whenever a process is killed.
 * Returns how many; 0 also if the batch was cancelled or fed meanwhile. A request without `policy.ttl` never expires.
 */
export async function feedBatch(db: Db, lane: string, { id, fedTo, numbers, maxBytes }: FeedOrder): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'batch-feed',
    text: `
      with picked as (
        select p.n, r.number, ${inputOf('r')}, r.webhook, r.execution_timeout_ms, r.ttl_ms,
               sum(${inputBytes('r.')}) over (order by p.n) as total,
               row_number() over (order by p.n) as nth
        from unnest($3::int8[]) with ordinality as p(number, n)
        cross join lateral (select * from batch_requests r where r.batch_id = $1 and r.number = p.number) r
      ), chosen as (select * from picked where total <= $4 or nth = 1
      ), moved as (
        update batches set fed = fed + (select count(*) from chosen),
          fed_to = fed_to + case when (select count(*) from chosen) = (select count(*) from picked) then cardinality($3::int8[])
                                 else (select max(n) from chosen) end
        where id = $1 and status = 'FINALIZED' and cancelled_at is null and not is_paused and fed_to = $2
        returning endpoint_id, finalized_at
      ), new as (
        insert into jobs (id, endpoint_id, status, low_priority, is_sync, ${INPUT}, webhook, execution_timeout_ms,
                          expires_at, has_own_ttl, batch_id, batch_number)
        select $1 || '-' || c.number, m.endpoint_id, 'IN_QUEUE', true, false, ${inputOf('c')}, c.webhook,
               c.execution_timeout_ms,
               case when c.ttl_ms is null then now() + interval '100 years'
                    else greatest(m.finalized_at + c.ttl_ms * interval '1 millisecond', now()) end,
               c.ttl_ms is not null, $1, c.number
        from moved m, chosen c order by c.n
        returning endpoint_id, ${inputBytes()} as bytes
      ), counted as (${addToCounters({
        from: 'new',
        lane: '$5',
        deltas: { queued_low: 'count(*)', queued_bytes: 'sum(bytes)' },
      })}
      )
      select count(*) as count from new`,
    values: [id, fedTo, bigintArray(numbers), maxBytes, lane],
  });
  return rows[0]!.count;
}

/**
 * Moves the first job that waits for low-priority work to the end of the normal queue, so that it runs although interactive
 * jobs never stop coming. False if there is none. Served by jobs_of_batch.
 */
export async function promoteOldestJob(db: Db, lane: string, id: BatchId): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'batch-promote',
    text: `
      with promoted as (
        update jobs set low_priority = false, created_at = now()
        where id = any(array(
          select id from jobs where batch_id = $1 and status = 'IN_QUEUE' and low_priority
          order by created_at, seq limit 1 for update skip locked))
        returning endpoint_id
      ), counted as (${addToCounters({ from: 'promoted', lane: '$2', deltas: { queued: 'count(*)', queued_low: '-count(*)' } })})
      select from promoted`,
    values: [id, lane],
  });
  return rowCount === 1;
}

/** Stores why a batch waits, and what its first requests took. */
export async function noteBatch(
  db: Db,
  { id, reason, measured }: { id: BatchId; reason: string | null; measured: Measured | null },
): Promise<void> {
  await db.query({
    name: 'batch-note',
    text: "update batches set reason = $2, estimate = coalesce(estimate, $3) where id = $1 and status = 'FINALIZED' and cancelled_at is null",
    values: [id, reason, measured && JSON.stringify(measured)],
  });
}
