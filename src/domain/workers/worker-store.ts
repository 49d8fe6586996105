import { notFound } from '../../core/errors.ts';
import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { WorkerCondition } from './worker-status.ts';

/** A live worker with what its status is made of. */
export interface LiveWorkerRow extends WorkerCondition {
  id: WorkerId;
  version: number;
  image: string;
  gpuCount: number;
  gpuTypeId: string | null;
  dataCenterId: string | null;
  startedAt: Date | null;
}

/** Oldest first; a worker whose container has ended is not live, nor is a frozen one (rest.md section 3). */
export async function listLiveWorkerRows(db: Db, userId: UserId, endpointId: EndpointId): Promise<LiveWorkerRow[]> {
  const result = await db.query<LiveWorkerRow>(
    `select w.id, w.version, w.spec->>'image' as "image", w.gpu_count as "gpuCount", w.gpu_type_id as "gpuTypeId",
            w.data_center_id as "dataCenterId", w.started_at as "startedAt",
            w.phase, w.phase_reason as "phaseReason", w.ready_at is not null as "isReady", w.is_lost as "isLost",
            a.unhealthy_reason as "unhealthyReason",
            exists (select from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS') as "isBusy"
     from workers w left join worker_activity a on a.worker_id = w.id
     where w.endpoint_id = $1 and w.user_id = $2 and w.phase not in ('FROZEN', 'EXITED')
     order by w.created_at, w.id`,
    [endpointId, userId],
  );
  return result.rows;
}

export async function countLiveWorkers(db: Db, userId: UserId, endpointId: EndpointId): Promise<number> {
  const result = await db.query<{ count: number }>(
    `select count(*) from workers where endpoint_id = $1 and user_id = $2 and phase not in ('FROZEN', 'EXITED')`,
    [endpointId, userId],
  );
  return result.rows[0]!.count;
}

/** Throws `notFound` unless the worker, live or ended, belongs to this user's endpoint. */
export async function checkWorkerOfEndpoint(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  workerId: WorkerId,
): Promise<void> {
  const result = await db.query('select from workers where id = $1 and endpoint_id = $2 and user_id = $3', [
    workerId,
    endpointId,
    userId,
  ]);
  if (result.rowCount === 0) throw notFound('Worker');
}
