import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { ControlledWorker, WorkerPhase } from './worker-lifecycle.ts';

/** Returns those of the workers that have not ended. */
export async function listLiveAmong(db: Db, ids: readonly WorkerId[]): Promise<Set<WorkerId>> {
  if (ids.length === 0) return new Set();
  const result = await db.query<{ id: WorkerId }>(
    `select id from workers where id = any($1::text[]) and phase <> 'EXITED'`,
    [ids],
  );
  return new Set(result.rows.map(({ id }) => id));
}

/** A live worker's minimal state, small enough to cache for all workers. */
export interface LiveWorker {
  id: WorkerId;
  endpointId: EndpointId;
  phase: WorkerPhase;
  /** It is ready or frozen, as wanted. */
  isSettled: boolean;
}

/**
 * Returns the live workers of the next endpoints after `afterEndpointId`: at least `limit`, or all that are left. Served by
 * workers_live. Does not read the activity, so a worker that reports itself unhealthy counts as settled.
 */
export async function listLiveWorkers(db: Db, afterEndpointId: string, limit: number): Promise<LiveWorker[]> {
  const result = await db.query<LiveWorker>({
    name: 'workers-live',
    text: `select id, endpoint_id as "endpointId", phase,
                  wanted = 'FREEZE' or (wanted = 'RUN' and phase = 'RUNNING' and ready_at is not null) as "isSettled"
           from workers where phase <> 'EXITED' and endpoint_id > $1
           order by endpoint_id fetch first $2 rows with ties`,
    values: [afterEndpointId, limit],
  });
  return result.rows;
}

/** Returns the minimal state of a worker. */
export function toLiveWorker(worker: ControlledWorker): LiveWorker {
  const { id, endpointId, phase, wanted, readyAt, unhealthyReason } = worker;
  const works = wanted === 'RUN' && phase === 'RUNNING' && readyAt !== null && unhealthyReason === null;
  return { id, endpointId, phase, isSettled: wanted === 'FREEZE' || works };
}
