import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { EndpointStateName } from '../endpoints/endpoint-state.ts';
import { listEndpointStates } from '../endpoints/list-endpoint-states.ts';
import { LIVE_REQUEST_DEMAND } from '../endpoints/request-demand.ts';
import { type WorkerStatus, workerStatus } from '../workers/worker-status.ts';
import { groupLiveWorkers } from '../workers/worker-store.ts';

/** The state of the whole installation, for its operator only. */
export interface InstallationFigures {
  /** Endpoints with work, the busiest first, then the other `known` ones. */
  endpoints: EndpointLoad[];
  workers: { endpointId: EndpointId; status: WorkerStatus; count: number }[];
  states: { endpointId: EndpointId; state: EndpointStateName }[];
  frozen: { count: number; memoryBytes: number };
  /** By observed phase, without pods that are gone. */
  pods: { phase: string; count: number }[];
  webhooks: number;
  /** Bytes of stored models; files that several share are counted for each. */
  modelBytes: number;
}

interface EndpointLoad {
  id: EndpointId;
  /** Queued jobs, or held requests. */
  queued: number;
  /** Jobs in progress, or requests in flight. */
  inProgress: number;
  /** Seconds; 0 if nothing waits. */
  oldestSeconds: number;
}

/** `known`: endpoints to include even without work, unless deleted. */
export async function readInstallationFigures(
  db: Db,
  known: readonly EndpointId[],
  now: number,
): Promise<InstallationFigures> {
  const [endpoints, groups, states, rest] = await Promise.all([
    listEndpointLoads(db, known),
    groupLiveWorkers(db),
    listEndpointStates(db, 'all', now),
    db.query<
      Pick<InstallationFigures, 'frozen' | 'webhooks' | 'modelBytes'> & { pods: InstallationFigures['pods'] | null }
    >({
      name: 'installation-figures',
      text: `select (select jsonb_build_object('count', count(*), 'memoryBytes', coalesce(sum(memory_bytes), 0))
                     from workers where phase = 'FROZEN') as frozen,
                    (select jsonb_agg(jsonb_build_object('phase', phase, 'count', count))
                     from (select phase, count(*) from pods where gone_at is null group by phase) p) as pods,
                    (select count(*) from webhook_deliveries)::int8 as webhooks,
                    (select coalesce(sum(bytes), 0) from machine_models join pinned_models on id = model_id)::int8 as "modelBytes"`,
    }),
  ]);
  const { frozen, pods, webhooks, modelBytes } = rest.rows[0]!;
  const workers = groups.map((group) => ({
    endpointId: group.endpointId,
    status: workerStatus(group),
    count: group.count,
  }));
  const named = [...states].map(([endpointId, { state }]) => ({ endpointId, state }));
  return { endpoints, workers, states: named, frozen, pods: pods ?? [], webhooks, modelBytes };
}

/** Reads only counters and index heads: the cost grows with the number of endpoints, not with their queues. */
async function listEndpointLoads(db: Db, known: readonly EndpointId[]): Promise<EndpointLoad[]> {
  const result = await db.query<EndpointLoad>({
    name: 'endpoint-loads',
    text: `
      select l.id, l.queued, l."inProgress",
             greatest(coalesce(extract(epoch from now() - least(l.held_since, normal.created_at, low.created_at)), 0), 0)::float8
               as "oldestSeconds"
      from (select e.id, greatest(coalesce(c.queued, 0) + coalesce(r.held, 0), 0)::int8 as queued,
                   greatest(coalesce(c.in_progress, 0) + coalesce(r.in_flight, 0), 0)::int8 as "inProgress",
                   r.held_since
            from endpoints e
            left join (select endpoint_id, sum(queued + queued_low) as queued, sum(in_progress) as in_progress
                       from endpoint_counters group by 1) c on c.endpoint_id = e.id
            left join (select endpoint_id, sum(held) as held, sum(in_flight) as in_flight,
                              min(oldest_held_at) as held_since
                       from ${LIVE_REQUEST_DEMAND} d group by 1) r on r.endpoint_id = e.id) l
      left join lateral (select created_at from jobs j where l.queued > 0 and j.endpoint_id = l.id
                           and j.status = 'IN_QUEUE' and not j.low_priority order by created_at, seq limit 1) normal on true
      left join lateral (select created_at from jobs j where l.queued > 0 and j.endpoint_id = l.id
                           and j.status = 'IN_QUEUE' and j.low_priority order by created_at, seq limit 1) low on true
      where l.queued > 0 or l."inProgress" > 0 or l.id = any($1::text[])
      order by l.queued + l."inProgress" desc, l.id`,
    values: [known],
  });
  return result.rows;
}
