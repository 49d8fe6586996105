import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { subtractInUse } from '../catalog/gpus-in-use.ts';
import { REQUESTS_OF_WORKER } from '../endpoints/request-demand.ts';
import { JOBS_OF_WORKER } from '../jobs/jobs-of-worker.ts';
import { listGpusInUse } from './worker-lifecycle.ts';

/**
 * How a worker gives back its GPU memory: its kit's `onSleep` and `onWake`, its PODYARD_SLEEP_URL and PODYARD_WAKE_URL, or
 * a checkpoint by the driver.
 */
export type SleepMethod = 'HANDLER' | 'URL' | 'CHECKPOINT';

/** Stores how a worker can sleep; null: it cannot any more. */
export async function updateSleepMethod(db: Db, id: WorkerId, method: SleepMethod | null): Promise<void> {
  await db.query('update workers set sleep_method = $2 where id = $1 and sleep_method is distinct from $2', [
    id,
    method,
  ]);
}

/** Records that a worker that is to be frozen sleeps or is about to: it gets no work before it is awake. False if it is to run after all. */
export async function markAsleep(db: Db, id: WorkerId): Promise<boolean> {
  const result = await db.query(
    `update workers set asleep_at = coalesce(asleep_at, now()), serving_at = null
     where id = $1 and wanted = 'FREEZE' and phase = 'RUNNING'`,
    [id],
  );
  return result.rowCount === 1;
}

/** Records that a worker has its GPU memory again. False if it was awake, or has no GPUs to be awake on. */
export async function markAwake(db: Db, id: WorkerId): Promise<boolean> {
  const result = await db.query(
    `update workers set asleep_at = null where id = $1 and asleep_at is not null and gpus_released_at is null`,
    [id],
  );
  return result.rowCount === 1;
}

/** Frees the GPUs of a sleeping worker. False if it was awake again by then. */
export async function releaseGpus(db: Db, id: WorkerId): Promise<boolean> {
  const result = await db.query(
    `update workers set gpus_released_at = now()
     where id = $1 and asleep_at is not null and gpus_released_at is null and phase in ('RUNNING', 'FROZEN')`,
    [id],
  );
  return result.rowCount === 1;
}

/** Takes the GPUs of a sleeping worker back for it, if as many are free. `gpus`: all of its kind and place, free or not. */
export function retakeGpus(
  pool: Pool,
  worker: { id: WorkerId; gpuCount: number },
  gpus: readonly { pool: string; gpuTypeId: string; dataCenterId: string; total: number }[],
): Promise<boolean> {
  const takeIfFree = async (db: Db) => {
    const free = subtractInUse(gpus, await listGpusInUse(db)).reduce((sum, one) => sum + one.free, 0);
    if (free < worker.gpuCount) return false;
    const result = await db.query(
      "update workers set gpus_released_at = null where id = $1 and phase in ('RUNNING', 'FROZEN')",
      [worker.id],
    );
    return result.rowCount === 1;
  };
  return transaction(pool, takeIfFree, { lock: ADVISORY_LOCKS.capacity });
}

/** Stores what a worker waits for before it can wake. */
export async function markWaitingForGpus(db: Db, id: WorkerId, reason: string): Promise<void> {
  await db.query("update workers set phase_reason = $2 where id = $1 and phase = 'FROZEN' and wanted = 'RUN'", [
    id,
    reason,
  ]);
}

/** A worker whose GPUs would be free once it sleeps. */
export interface IdleSleeper {
  id: WorkerId;
  endpointId: EndpointId;
  userId: UserId;
  gpuPool: string;
  gpuTypeId: string | null;
  dataCenterId: string;
  gpuCount: number;
  /** Its last work, or when it became ready. */
  lastUsedAt: Date;
}

/**
 * Returns ready workers in these pools that can sleep, have nothing to do, and are not kept by `workers.min`: the least recently
 * used first. Workers of endpoints with queued jobs or held requests are about to work, so they are not among them. Served by
 * workers_sleepers.
 */
export async function listIdleSleepers(db: Db, pools: readonly string[]): Promise<IdleSleeper[]> {
  const result = await db.query<IdleSleeper>({
    name: 'workers-idle-sleepers',
    text: `select id, "endpointId", "userId", "gpuPool", "gpuTypeId", "dataCenterId", "gpuCount", "lastUsedAt" from (
             select w.id, w.endpoint_id as "endpointId", w.user_id as "userId", w.gpu_pool as "gpuPool", w.gpu_type_id as "gpuTypeId", w.data_center_id as "dataCenterId",
                    w.gpu_count as "gpuCount",
                    greatest(w.ready_at, w.thawed_at, a.last_work_at) as "lastUsedAt", e.workers_min as min,
                    row_number() over (partition by w.endpoint_id
                      order by greatest(w.ready_at, w.thawed_at, a.last_work_at) desc, w.id) as recency
             from workers w join endpoints e on e.id = w.endpoint_id left join worker_activity a on a.worker_id = w.id
             where w.sleep_method is not null and w.wanted = 'RUN' and w.phase = 'RUNNING' and w.asleep_at is null
               and w.ready_at is not null and w.gpu_pool = any($1::text[]) and e.flashboot <> 'OFF'
               and ${JOBS_OF_WORKER} = 0
               and not exists (select 1 from jobs j where j.endpoint_id = w.endpoint_id and j.status = 'IN_QUEUE')
               and ${REQUESTS_OF_WORKER} = 0
           ) as idle where recency > min
           order by "lastUsedAt", id`,
    values: [pools],
  });
  return result.rows;
}
