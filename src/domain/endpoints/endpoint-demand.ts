import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { ENDPOINT_USER_COLUMNS, type EndpointUserRow } from '../quotas/endpoint-users.ts';
import { SERVING_VERSION } from '../releases/serving-version.ts';
import { SCHEDULE_COLUMN } from '../scheduled-floors/floor-store.ts';
import type { FloorSchedule } from '../scheduled-floors/scheduled-floors.ts';
import { PLACE_WISH, type PlaceWish } from '../workers/place-wish.ts';
import type { FlashBoot, ScalerType } from './endpoint.ts';
import { LIVE_REQUEST_DEMAND } from './request-demand.ts';

/** The facts about an endpoint and its user that the scaler needs, beside the workers. */
export interface EndpointDemand extends EndpointUserRow {
  /** Version of the release that serves. */
  version: number;
  /** Trial of the newest release, if it is open or has failed. */
  trial: 'ASKED' | 'FAILED' | null;
  min: number;
  max: number;
  scalerType: ScalerType;
  scalerValue: number;
  idleTimeoutSeconds: number;
  flashboot: FlashBoot;
  isRolloutPaused: boolean;
  schedule: FloorSchedule | null;
  wish: PlaceWish | null;
  /** Queued jobs, or held requests. */
  queued: number;
  queuedLowPriority: number;
  /** Requests of running batches that no worker has, and when the oldest of these batches was finalized. */
  batched: number;
  oldestBatchAt: Date | null;
  /** Jobs in progress, or requests in flight. */
  inProgress: number;
  /** The oldest normal job or held request. */
  oldestQueuedAt: Date | null;
  /** Failed starts of the release since a worker of it last became ready, and since its trial was asked for. */
  failedStarts: number;
  lastFailedAt: Date | null;
  lastFailure: string | null;
}

/** Failed starts are counted among this many recently ended workers: more would not lengthen the pause. */
const RECENT_WORKERS = 64;

/** Reads only counters and index heads: the cost grows neither with the queue nor with the number of past workers. */
export async function listEndpointDemand(db: Db, ids: readonly EndpointId[]): Promise<EndpointDemand[]> {
  const result = await db.query<EndpointDemand>({
    name: 'endpoint-demand',
    text: `
      select e.id, ${SERVING_VERSION} as version, t.state as trial, e.workers_min as min, e.workers_max as max, e.scaler_type as "scalerType",
             e.scaler_value as "scalerValue", e.idle_timeout_s as "idleTimeoutSeconds",
             e.flashboot, e.is_rollout_paused as "isRolloutPaused", ${SCHEDULE_COLUMN} as schedule, ${PLACE_WISH} as wish,
             c.queued + r.held as queued, c."queuedLowPriority",
             b.batched, b.oldest as "oldestBatchAt",
             c."inProgress" + r.in_flight as "inProgress", least(oldest.created_at, r.oldest) as "oldestQueuedAt", f.count as "failedStarts", f.at as "lastFailedAt",
             f.reason as "lastFailure", ${ENDPOINT_USER_COLUMNS}
      from endpoints e
      join users u on u.id = e.user_id
      left join endpoint_schedules s on s.endpoint_id = e.id
      left join release_trials t on t.endpoint_id = e.id and t.version = e.version and t.state in ('ASKED', 'FAILED')
      cross join lateral (
        select coalesce(sum(queued), 0)::int8 as queued, coalesce(sum(queued_low), 0)::int8 as "queuedLowPriority",
               coalesce(sum(in_progress), 0)::int8 as "inProgress"
        from endpoint_counters k where k.endpoint_id = e.id) c
      cross join lateral (
        select coalesce(sum(accepted - fed + (select count(*) from jobs j where j.batch_id = x.id
                 and j.status = 'IN_QUEUE' and j.low_priority)), 0)::int8 as batched, min(finalized_at) as oldest
        from batches x where x.endpoint_id = e.id and x.status = 'FINALIZED' and x.cancelled_at is null
          and not x.is_paused) b
      left join lateral (
        select created_at from jobs j where j.endpoint_id = e.id and j.status = 'IN_QUEUE' and not j.low_priority
        order by created_at, seq limit 1) oldest on true
      cross join lateral (
        select coalesce(sum(held), 0)::int8 as held, coalesce(sum(in_flight), 0)::int8 as in_flight,
               min(oldest_held_at) as oldest
        from ${LIVE_REQUEST_DEMAND} d where d.endpoint_id = e.id) r
      cross join lateral (
        select count(*) as count, max(x.exited_at) as at, (array_agg(x.phase_reason order by x.exited_at desc))[1] as reason
        from (select *, max(ready_at) filter (where version = ${SERVING_VERSION}) over () as ready_before
              from (select version, exited_at, phase_reason, is_lost, ready_at from workers w
                    where w.endpoint_id = e.id and w.phase = 'EXITED'
                    order by exited_at desc limit ${RECENT_WORKERS}) recent) x
        where x.version = ${SERVING_VERSION} and x.is_lost and x.ready_at is null
          and (t.state = 'ASKED' and x.exited_at <= t.asked_at) is not true
          and x.exited_at > coalesce(x.ready_before, '-infinity')
          and x.exited_at > coalesce((select max(r.ready_at) from workers r where r.endpoint_id = e.id
                                      and r.phase <> 'EXITED' and r.version = ${SERVING_VERSION}), '-infinity')) f
      where e.id = any($1::text[])`,
    values: [ids],
  });
  return result.rows;
}

/**
 * Returns those of the next endpoints after `afterId` that have, or should have, workers or work; the others do not need the
 * scaler. Looks at `range` endpoints, and at fewer if `limit` of them are found before. `lastId`: where to continue, null at
 * the end.
 */
export async function listActiveEndpoints(
  db: Db,
  afterId: string,
  { range, limit }: { range: number; limit: number },
): Promise<{ ids: EndpointId[]; lastId: string | null }> {
  const { rows } = await db.query<{ ids: EndpointId[]; rangeEnd: string | null }>({
    name: 'endpoints-active',
    // Both bounds serve the index scan, which ends with the limit: of thousands of idle endpoints none is read twice.
    text: `with range as (select id from endpoints where id > $1 order by id offset $2::int - 1 limit 1)
           select array(
                    select id from endpoints e
                    where id > $1 and id <= coalesce((select id from range), (select max(id) from endpoints)) and (
                      workers_min > 0
                      or exists (select from endpoint_schedules s where s.endpoint_id = e.id)
                      or exists (select from release_trials t where t.endpoint_id = e.id and t.version = e.version and t.state = 'ASKED')
                      or exists (select from workers w where w.endpoint_id = e.id and w.phase <> 'EXITED')
                      or (select sum(queued + in_progress) <> 0 from endpoint_counters k where k.endpoint_id = e.id) is true
                      or exists (select from batches b where b.endpoint_id = e.id and b.status = 'FINALIZED')
                      or exists (select from ${LIVE_REQUEST_DEMAND} d where d.endpoint_id = e.id and held + in_flight > 0))
                    order by id limit $3) as ids,
                  (select id from range) as "rangeEnd"`,
    values: [afterId, range, limit],
  });
  const { ids, rangeEnd } = rows[0]!;
  return { ids, lastId: ids.length === limit ? ids.at(-1)! : rangeEnd };
}
