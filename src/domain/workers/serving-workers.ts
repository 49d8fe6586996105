import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { REQUESTS_OF_WORKER } from '../endpoints/request-demand.ts';
import { inLockOrder } from './lock-order.ts';
import type { WorkerStart } from './worker-timeline.ts';

/**
 * Workers of load-balancing endpoints: their health and where they take requests. Control probes and writes; load balancers
 * read. `ready_at`: when a worker first served.
 */

/** A live worker as a load balancer sees it. */
export interface ServingWorker {
  id: WorkerId;
  endpointId: EndpointId;
  version: number;
  phase: 'PENDING' | 'STARTING' | 'RUNNING' | 'FROZEN';
  isWanted: boolean;
  isFreezing: boolean;
  servingAt: Date | null;
  host: string | null;
  port: number | null;
  /** The endpoint's setting for concurrent requests per worker. */
  concurrency: string | null;
}

/** Returns all live workers of these endpoints. */
export async function listServingWorkers(db: Db, endpointIds: readonly EndpointId[]): Promise<ServingWorker[]> {
  const result = await db.query<ServingWorker>({
    name: 'serving-workers',
    text: `select id, endpoint_id as "endpointId", version, phase, wanted = 'RUN' as "isWanted",
                  wanted = 'FREEZE' as "isFreezing", serving_at as "servingAt", serving_host as host, serving_port as port,
                  spec -> 'env' ->> 'PODYARD_LB_CONCURRENCY' as concurrency
           from workers where endpoint_id = any($1::text[]) and endpoint_type = 'LOAD_BALANCING' and phase <> 'EXITED'`,
    values: [endpointIds],
  });
  return result.rows;
}

/** Returns the load-balancing endpoints of these workers. */
export async function listBalancedEndpoints(db: Db, workerIds: readonly string[]): Promise<EndpointId[]> {
  const result = await db.query<{ id: EndpointId }>({
    name: 'balanced-endpoints',
    text: `select distinct endpoint_id as id from workers where id = any($1::text[]) and endpoint_type = 'LOAD_BALANCING'`,
    values: [workerIds],
  });
  return result.rows.map((row) => row.id);
}

/** A worker to probe. */
export interface ProbedWorker {
  id: WorkerId;
  endpointId: EndpointId;
  httpPort: number;
  healthPort: number;
  healthPath: string;
  isServing: boolean;
  /** It served before. */
  wasReady: boolean;
}

/** Returns the running workers of all endpoints that are neither leaving nor asleep. */
export async function listProbedWorkers(db: Db): Promise<ProbedWorker[]> {
  const result = await db.query<ProbedWorker>({
    name: 'probed-workers',
    text: `select id, endpoint_id as "endpointId", http_port as "httpPort", health_port as "healthPort",
                  coalesce(spec -> 'env' ->> 'HEALTH_CHECK_PATH', '') as "healthPath",
                  serving_at is not null as "isServing", ready_at is not null as "wasReady"
           from workers
           where endpoint_type = 'LOAD_BALANCING' and phase = 'RUNNING' and wanted = 'RUN' and http_port is not null
             and asleep_at is null`,
  });
  return result.rows;
}

/** Stores a worker's ports for requests and health, before it is started. */
export async function updateWorkerPorts(db: Db, id: WorkerId, ports: { http: number; health: number }): Promise<void> {
  await db.query('update workers set http_port = $2, health_port = $3 where id = $1', [id, ports.http, ports.health]);
}

/** Marks a worker as serving at this address. Returns its start if this was the first time. */
export async function markServing(
  db: Db,
  id: WorkerId,
  at: { host: string; port: number },
): Promise<WorkerStart | undefined> {
  const result = await db.query<WorkerStart & { isFirst: boolean }>(
    `update workers set serving_at = now(), serving_host = $2, serving_port = $3, phase_reason = null,
       ready_at = coalesce(ready_at, now()), timeline = jsonb_build_object('readyAt', now()) || timeline
     where id = $1 and phase = 'RUNNING' and serving_at is null and asleep_at is null
     returning created_at as "createdAt", timeline, ready_at = now() as "isFirst"`,
    [id, at.host, at.port],
  );
  return result.rows.find(({ isFirst }) => isFirst);
}

/** Stores why a running worker is not ready yet. */
export async function markUnready(db: Db, id: WorkerId, reason: string): Promise<void> {
  await db.query("update workers set phase_reason = $2 where id = $1 and phase = 'RUNNING' and serving_at is null", [
    id,
    reason,
  ]);
}

/** True while the worker has requests in flight. */
export async function isWorkerBusy(db: Db, id: WorkerId): Promise<boolean> {
  const result = await db.query<{ held: number }>(
    `select ${REQUESTS_OF_WORKER} as held from workers w where w.id = $1`,
    [id],
  );
  return (result.rows[0]?.held ?? 0) > 0;
}

/** Stops requests to a worker until it serves again. `reason` null: it asked for that; else it counts as unhealthy. */
export async function markNotServing(db: Db, id: WorkerId, reason: string | null): Promise<void> {
  await db.query(
    `update workers set serving_at = null, phase_reason = $2 where id = $1 and phase = 'RUNNING' and ready_at is not null`,
    [id, reason],
  );
}

/** Stores the new addresses of workers, which get requests again once they answer there. */
export async function updateAddresses(
  db: Db,
  workers: readonly { id: string; address: string | null }[],
): Promise<void> {
  const rows = inLockOrder(workers).map(({ id, address }) => ({ id, address }));
  await db.query(
    `update workers w set address = n.address, serving_at = null
     from jsonb_to_recordset($1::jsonb) as n(id text, address text) where w.id = n.id and phase <> 'EXITED'`,
    [JSON.stringify(rows)],
  );
}
