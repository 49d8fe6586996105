import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/**
 * What the load balancers of all processes have to do, endpoint by endpoint: the scaler reads it as it reads queues. Rows of
 * a process that died do not count: it has stopped saying that they hold.
 */

/** What one process has to do for one endpoint. */
export interface RequestDemand {
  endpointId: EndpointId;
  held: number;
  inFlight: number;
  /** ms since 1970; null when nothing is held. */
  oldestHeldAt: number | null;
  /** Requests in flight of every worker that this process may send requests to, or that still has some of its. */
  workers: Readonly<Record<WorkerId, number>>;
}

/** Rows hold for so long after their process last said so; it says so several times as often. */
const LIVE_SECONDS = 10;
export const SAY_SEEN_MS = (LIVE_SECONDS * 1000) / 4;

/** The live rows, for a `from` clause. */
export const LIVE_REQUEST_DEMAND = `(
  select d.* from request_demand d join processes p on p.id = d.process_id
  where p.demand_seen_at > now() - interval '${LIVE_SECONDS} seconds')`;

/**
 * What a worker holds, in SQL over `workers w`. One that is to leave holds something as long as any process may still send
 * it a request, so that nobody stops it in between.
 */
export const REQUESTS_OF_WORKER = `(
  case w.endpoint_type when 'LOAD_BALANCING' then (
    select coalesce(sum(greatest((d.workers ->> w.id)::int, case w.wanted when 'RUN' then 0 else 1 end)), 0)::int8
    from ${LIVE_REQUEST_DEMAND} d where d.endpoint_id = w.endpoint_id and d.workers ? w.id
  ) else 0 end)`;

/** Replaces this process's rows for these endpoints, and says that all its rows hold. */
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

/** What waits for a worker and what workers have, of all endpoints or of one; endpoints with nothing may be missing. */
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

/** Forgets this process's rows: those for these endpoints, or all. */
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

/** Rows that nobody will ever touch again. */
export async function deleteDeadRequestDemand(db: Db): Promise<void> {
  await db.query(
    `delete from request_demand d where not exists (select from processes p where p.id = d.process_id)
       or not exists (select from endpoints e where e.id = d.endpoint_id)`,
  );
}
