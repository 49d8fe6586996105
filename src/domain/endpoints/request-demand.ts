import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/**
 * The load of all processes' load balancers per endpoint, which the scaler reads as it reads queues. Rows of a dead process
 * expire, because it no longer renews them.
 */

/** The load of one process for one endpoint. */
export interface RequestDemand {
  endpointId: EndpointId;
  held: number;
  inFlight: number;
  /** ms since 1970; null if nothing is held. */
  oldestHeldAt: number | null;
  /** Requests in flight per worker, for every worker that this process may send requests to or that still has some. */
  workers: Readonly<Record<WorkerId, number>>;
}

/** Rows expire this long after their process last renewed them; it renews them several times as often. */
const LIVE_SECONDS = 10;
export const DEMAND_HEARTBEAT_MS = (LIVE_SECONDS * 1000) / 4;

/** SQL of the live rows, for a `from` clause. */
export const LIVE_REQUEST_DEMAND = `(
  select d.* from request_demand d join processes p on p.id = d.process_id
  where p.demand_seen_at > now() - interval '${LIVE_SECONDS} seconds')`;

/**
 * SQL of the requests that a worker (`workers w`) holds. A leaving worker counts as busy while any process may still send
 * it a request, so that it is not stopped in between.
 */
export const REQUESTS_OF_WORKER = `(
  case w.endpoint_type when 'LOAD_BALANCING' then (
    select coalesce(sum(greatest((d.workers ->> w.id)::int, case w.wanted when 'RUN' then 0 else 1 end)), 0)::int8
    from ${LIVE_REQUEST_DEMAND} d where d.endpoint_id = w.endpoint_id and d.workers ? w.id
  ) else 0 end)`;

/** Replaces this process's rows for these endpoints, and renews all its rows. */
export async function writeRequestDemand(db: Db, processId: string, demands: readonly RequestDemand[]): Promise<void> {
  await db.query({
    name: 'request-demand-write',
    text: `with seen as (update processes set demand_seen_at = now() where id = $1)
           insert into request_demand (endpoint_id, process_id, held, in_flight, oldest_held_at, workers)
           select "endpointId", $1, held, "inFlight", to_timestamp("oldestHeldAt" / 1000), workers
           from jsonb_to_recordset($2::jsonb)
             as n("endpointId" text, held int, "inFlight" int, "oldestHeldAt" float8, workers jsonb)
           on conflict (endpoint_id, process_id) do update set held = excluded.held, in_flight = excluded.in_flight,
             oldest_held_at = excluded.oldest_held_at, workers = excluded.workers`,
    values: [processId, JSON.stringify(demands)],
  });
}

export interface RequestCounts {
  held: number;
  inFlight: number;
}

/** Counts held and in-flight requests of all the user's endpoints, or of one; endpoints without any may be missing. */
export async function countRequests(
  db: Db,
  userId: UserId,
  endpointId: EndpointId | null,
): Promise<Map<EndpointId, RequestCounts>> {
  const result = await db.query<RequestCounts & { id: EndpointId }>({
    name: 'request-counts',
    text: `select e.id, sum(d.held)::int8 as held, sum(d.in_flight)::int8 as "inFlight"
           from endpoints e join ${LIVE_REQUEST_DEMAND} d on d.endpoint_id = e.id
           where e.user_id = $1 and ($2::text is null or e.id = $2) group by e.id`,
    values: [userId, endpointId],
  });
  return new Map(result.rows.map(({ id, held, inFlight }) => [id, { held, inFlight }]));
}

/** Deletes this process's rows for these endpoints, or all. */
export async function deleteRequestDemand(
  db: Db,
  processId: string,
  endpointIds: readonly EndpointId[] | null,
): Promise<void> {
  await db.query('delete from request_demand where process_id = $1 and ($2::text[] is null or endpoint_id = any($2))', [
    processId,
    endpointIds,
  ]);
}

/** Deletes rows of dead processes and deleted endpoints. */
export async function deleteDeadRequestDemand(db: Db): Promise<void> {
  await db.query(
    `delete from request_demand d where not exists (select from processes p where p.id = d.process_id)
       or not exists (select from endpoints e where e.id = d.endpoint_id)`,
  );
}
