import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { REQUESTS_OF_WORKER } from '../endpoints/request-demand.ts';
import { JOBS_OF_WORKER } from '../jobs/jobs-of-worker.ts';
import type { SleepMethod } from './sleeping-workers.ts';
import type { WorkerPhase, WorkerWanted } from './worker-lifecycle.ts';

/** A worker that is frozen, asleep, or to be frozen. */
export interface FreezingWorker {
  id: WorkerId;
  endpointId: EndpointId;
  userId: UserId;
  wanted: WorkerWanted;
  wantedReason: string;
  phase: WorkerPhase;
  /** Jobs it holds: one may have been dispatched at the last moment. */
  leased: number;
  /** Load-balanced requests that it has or that a process may still send it. */
  requests: number;
  /** When it stopped getting work. */
  drainAt: Date | null;
  /** Its endpoint has PRIORITY_FLASHBOOT: it is evicted after others. */
  isPriority: boolean;
  memoryBytes: number;
  frozenAt: Date | null;
  gpuPool: string | null;
  gpuTypeId: string | null;
  gpuCount: number;
  dataCenterId: string | null;
  /** False while it sleeps and its GPUs are free for others. */
  holdsGpus: boolean;
  /** Null: it cannot sleep. */
  sleepMethod: SleepMethod | null;
  /** Since when it holds no GPU memory. */
  asleepAt: Date | null;
  /** When its last thaw was ordered, and when it was done. */
  thawWantedAt: Date | null;
  thawedAt: Date | null;
  /** Its PODYARD_SLEEP_URL and PODYARD_WAKE_URL. */
  sleepUrl: string | null;
  wakeUrl: string | null;
  /** Where a load-balancing worker takes requests. */
  httpPort: number | null;
}

/** Returns those of all users, because they share memory and GPUs. Served by workers_frozen. */
export async function listFreezingWorkers(db: Db): Promise<FreezingWorker[]> {
  const result = await db.query<FreezingWorker>({
    name: 'workers-freezing',
    text: `select w.id, w.endpoint_id as "endpointId", w.user_id as "userId", w.wanted, w.wanted_reason as "wantedReason", w.phase,
                  w.drain_at as "drainAt", coalesce(e.flashboot = 'PRIORITY_FLASHBOOT', false) as "isPriority",
                  coalesce(w.memory_bytes, 0) as "memoryBytes", w.frozen_at as "frozenAt", w.gpu_pool as "gpuPool",
                  w.gpu_type_id as "gpuTypeId", w.gpu_count as "gpuCount", w.data_center_id as "dataCenterId", w.user_id as "userId",
                  w.gpu_pool is not null and w.gpus_released_at is null as "holdsGpus", w.sleep_method as "sleepMethod",
                  w.asleep_at as "asleepAt", w.thaw_wanted_at as "thawWantedAt", w.thawed_at as "thawedAt",
                  w.spec -> 'env' ->> 'PODYARD_SLEEP_URL' as "sleepUrl", w.spec -> 'env' ->> 'PODYARD_WAKE_URL' as "wakeUrl",
                  w.http_port as "httpPort",
                  ${JOBS_OF_WORKER} as leased,
                  ${REQUESTS_OF_WORKER} as requests
           from workers w left join endpoints e on e.id = w.endpoint_id
           where (w.wanted = 'FREEZE' or w.phase = 'FROZEN' or w.asleep_at is not null) and w.phase <> 'EXITED'
           order by w.frozen_at, w.id`,
  });
  return result.rows;
}
