import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { STOP_OF_ENDPOINT } from '../budgets/budget-sql.ts';
import { REFUSAL_OF_ENDPOINT } from '../jobs/find-webhook.ts';
import { SERVING_VERSION } from '../releases/serving-version.ts';
import { NO_CAPACITY } from '../workers/worker-status.ts';
import type { EndpointFacts, WorkerCounts } from './endpoint-state.ts';
import { LIVE_REQUEST_DEMAND } from './request-demand.ts';

/** Which endpoints to read: some, all of a user, or all of the installation. */
export type EndpointSelection = { ids: readonly EndpointId[] } | { userId: UserId } | 'all';

type Losses = NonNullable<EndpointFacts['losses']>;
type FactsRow = Omit<EndpointFacts, 'workers' | 'losses'> &
  WorkerCounts &
  Omit<Losses, 'lastAt'> & { id: EndpointId; lastAt: Date | null };

/**
 * Reads what the states of endpoints derive from, in one statement: each table is read once for all of them. The losses of a
 * release are added up only where its last worker was lost.
 */
export async function listEndpointFacts(db: Db, of: EndpointSelection): Promise<Map<EndpointId, EndpointFacts>> {
  const { rows } = await db.query<FactsRow>({
    name: `endpoint-facts-${of === 'all' ? 'all' : 'ids' in of ? 'ids' : 'user'}`,
    text: factsSql(of),
    values: of === 'all' ? [NO_CAPACITY] : [NO_CAPACITY, 'ids' in of ? of.ids : of.userId],
  });
  return new Map(rows.map((row) => [row.id, toFacts(row)]));
}

function toFacts(row: FactsRow): EndpointFacts {
  const { id, ready, starting, throttled, unhealthy, outdated, frozen, ...rest } = row;
  const { failedStarts, failingSince, inRow, rowSince, lastAt, lastReason, ...facts } = rest;
  return {
    ...facts,
    workers: { ready, starting, throttled, unhealthy, outdated, frozen },
    losses: lastAt === null ? null : { failedStarts, failingSince, inRow, rowSince, lastAt, lastReason },
  };
}

/** $1: NO_CAPACITY. $2: the ids or the user. */
function factsSql(of: EndpointSelection): string {
  const isOf = (column: string): string => {
    if (of === 'all') return 'true';
    return 'ids' in of
      ? `${column} = any($2::text[])`
      : `${column} in (select id from endpoints where user_id = $2::text)`;
  };
  return `
    select e.id, ${SERVING_VERSION} as version, e.version as "newestVersion", trial.reason as "trialFailure",
           e.workers_min as "workersMin", e.workers_max as "workersMax",
           e.is_rollout_paused as "isRolloutPaused",
           case when w.outdated > 0 then
             (select r.created_at from releases r where r.endpoint_id = e.id and r.version = ${SERVING_VERSION}) end as "releasedAt",
           greatest(coalesce(k.queued, 0) + coalesce(d.held, 0), 0)::int8 as waiting,
           greatest(coalesce(k.in_progress, 0) + coalesce(d.in_flight, 0), 0)::int8 as running,
           coalesce(w.ready, 0)::int8 as ready, coalesce(w.starting, 0)::int8 as starting,
           coalesce(w.throttled, 0)::int8 as throttled, coalesce(w.unhealthy, 0)::int8 as unhealthy,
           coalesce(w.outdated, 0)::int8 as outdated, coalesce(w.frozen, 0)::int8 as frozen,
           w.throttled_since as "throttledSince", w.starting_since as "startingSince",
           w.unhealthy_since as "unhealthySince", w.throttled_reason as "throttledReason",
           w.unhealthy_reason as "unhealthyReason", last.exited_at as "lastExitAt",
           case when l.count > 0 then last.exited_at end as "lastAt", last.phase_reason as "lastReason",
           limited.at as "limitedSince", limited.reason as "limitReason", ${STOP_OF_ENDPOINT} as budget,
           ${REFUSAL_OF_ENDPOINT} as "webhookRefusal",
           l.failed_starts as "failedStarts", l.failing_since as "failingSince", l.count as "inRow", l.since as "rowSince"
    from endpoints e
    left join release_trials trial on trial.endpoint_id = e.id and trial.version = e.version and trial.state = 'FAILED'
    left join (select endpoint_id, sum(queued) as queued, sum(in_progress) as in_progress
               from endpoint_counters where ${isOf('endpoint_id')} group by 1) k on k.endpoint_id = e.id
    left join (select endpoint_id, sum(held) as held, sum(in_flight) as in_flight
               from ${LIVE_REQUEST_DEMAND} d where ${isOf('endpoint_id')} group by 1) d on d.endpoint_id = e.id
    left join (${countsSql(isOf)}) w on w.endpoint_id = e.id
    left join lateral (
      select version, exited_at, phase_reason, is_lost from workers x
      where x.endpoint_id = e.id and x.phase = 'EXITED' order by x.exited_at desc limit 1) last on true
    left join lateral (
      select count(*) filter (where in_row) as count, min(exited_at) filter (where in_row) as since,
             count(*) filter (where is_failed_start) as failed_starts,
             min(exited_at) filter (where is_failed_start) as failing_since
      from (select x.exited_at,
                   x.exited_at > coalesce(max(x.exited_at) filter (where not x.is_lost) over (), '-infinity') as in_row,
                   x.ready_at is null and x.exited_at > coalesce(greatest(max(x.ready_at) over (), (
                     select max(r.ready_at) from workers r where r.endpoint_id = e.id and r.phase <> 'EXITED'
                       and r.version = ${SERVING_VERSION})), '-infinity') and x.is_lost as is_failed_start
            from workers x
            where last.is_lost and last.version = ${SERVING_VERSION} and x.endpoint_id = e.id and x.phase = 'EXITED'
              and x.version = ${SERVING_VERSION}) h) l on true
    left join lateral (
      select at, reason from (
        select at, reason, inputs ? 'userCut' as is_limited from scaling_decisions s
        where s.endpoint_id = e.id and s.inputs <> '{}' order by s.id desc limit 1) decision
      where is_limited) limited on coalesce(w.live, 0) = 0
        and (e.workers_min > 0 or coalesce(k.queued, 0) + coalesce(d.held, 0) > 0)
    where ${of === 'all' ? 'true' : 'ids' in of ? 'e.id = any($2::text[])' : 'e.user_id = $2::text'}`;
}

/** The live workers of each endpoint by condition, as `workerStatus` sees it; those that are leaving count as gone. */
function countsSql(isOf: (column: string) => string): string {
  return `
    select endpoint_id, count(*) filter (where condition = 'ready') as ready,
           count(*) filter (where condition = 'starting') as starting,
           count(*) filter (where condition = 'throttled') as throttled,
           count(*) filter (where condition = 'unhealthy') as unhealthy,
           count(*) filter (where condition = 'frozen') as frozen, count(*) filter (where condition <> 'frozen') as live,
           count(*) filter (where condition <> 'frozen' and version <> newest) as outdated,
           min(created_at) filter (where condition = 'throttled') as throttled_since,
           min(created_at) filter (where condition = 'starting') as starting_since,
           min(created_at) filter (where condition = 'unhealthy') as unhealthy_since,
           (array_agg(phase_reason order by created_at) filter (where condition = 'throttled'))[1] as throttled_reason,
           (array_agg(coalesce(unhealthy_reason, phase_reason) order by created_at)
             filter (where condition = 'unhealthy'))[1] as unhealthy_reason
    from (
      select w.endpoint_id, w.version, w.created_at, w.phase_reason, a.unhealthy_reason, ${SERVING_VERSION} as newest,
             case when w.wanted = 'FREEZE' or (w.phase = 'FROZEN' and w.phase_reason is null) then 'frozen'
                  when a.unhealthy_reason is not null or w.is_lost then 'unhealthy'
                  when w.endpoint_type = 'LOAD_BALANCING' and w.phase = 'RUNNING' and w.ready_at is not null
                    and w.serving_at is null and w.phase_reason is not null then 'unhealthy'
                  when w.phase = 'RUNNING' and
                    case w.endpoint_type when 'LOAD_BALANCING' then w.serving_at else w.ready_at end is not null then 'ready'
                  when w.phase <> 'RUNNING' and starts_with(w.phase_reason, $1) then 'throttled'
                  else 'starting' end as condition
      from workers w join endpoints e on e.id = w.endpoint_id
      left join worker_activity a on a.worker_id = w.id
      where w.phase <> 'EXITED' and w.wanted in ('RUN', 'FREEZE') and ${isOf('w.endpoint_id')}) c
    group by 1`;
}
