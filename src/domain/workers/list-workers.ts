import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { isNewest } from '../../scaling/releases.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import {
  summarizeWorkers,
  type WorkerCondition,
  type WorkerStatus,
  type WorkerSummary,
  workerReason,
  workerStatus,
} from './worker-status.ts';
import { type LiveWorkerRow, listLiveWorkerRows } from './worker-store.ts';

export interface Worker {
  id: WorkerId;
  status: WorkerStatus;
  /** Why it is throttled, unhealthy or not started yet. */
  reason: string | null;
  /** Its version is not the endpoint's newest. */
  isStale: boolean;
  version: number;
  image: string;
  gpuCount: number;
  gpuTypeId: string | null;
  dataCenterId: string | null;
  /** Since its container started; null before. */
  uptimeSeconds: number | null;
  startedAt: Date | null;
}

export interface WorkerList {
  workers: Worker[];
  summary: WorkerSummary;
  endpointVersion: number;
}

/** Returns an endpoint's live workers, oldest first, and their summary. Throws `notFound`. */
export async function listWorkers(db: Db, userId: UserId, endpointId: EndpointId, now: number): Promise<WorkerList> {
  const endpoint = await getEndpointRow(db, userId, endpointId);
  const rows = await listLiveWorkerRows(db, userId, endpointId);
  const workers = rows.map((row) => ({
    status: workerStatus(row),
    reason: workerReason(row),
    ...toWorker(row, endpoint.version, now),
  }));
  return {
    workers,
    summary: summarizeWorkers(workers.map((worker) => worker.status)),
    endpointVersion: endpoint.version,
  };
}

/** Returns the fields of a worker that do not depend on its state. `until`: its end, or now. */
export function toWorker(
  row: Omit<LiveWorkerRow, keyof WorkerCondition>,
  endpointVersion: number,
  until: number,
): Omit<Worker, 'status' | 'reason'> {
  return {
    id: row.id,
    isStale: !isNewest({ version: endpointVersion }, row),
    version: row.version,
    image: row.image,
    gpuCount: row.gpuCount,
    gpuTypeId: row.gpuTypeId,
    dataCenterId: row.dataCenterId,
    uptimeSeconds: row.startedAt && Math.max(0, Math.floor((until - row.startedAt.getTime()) / 1000)),
    startedAt: row.startedAt,
  };
}

/** An ended worker. `reason`: why it ended, if it was lost with the last lines of its output. */
export interface EndedWorker extends Omit<Worker, 'status'> {
  /** It ended unexpectedly, or could not be started. */
  isLost: boolean;
  createdAt: Date;
  endedAt: Date;
  exitCode: number | null;
}

/** Ended workers that are listed: those of the last day, at most a page. */
const LISTED = 100;
const LISTED_HOURS = 24;

/** Returns the workers of the user's endpoint that ended lately, the last one first. Served by workers_exited. */
export async function listEndedWorkers(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  endpointVersion: number,
): Promise<EndedWorker[]> {
  const result = await db.query<Omit<EndedWorker, 'isStale' | 'uptimeSeconds'>>({
    name: 'workers-ended',
    text: `select id, version, spec ->> 'image' as image, gpu_count as "gpuCount", gpu_type_id as "gpuTypeId",
             data_center_id as "dataCenterId", started_at as "startedAt", created_at as "createdAt",
             exited_at as "endedAt", exit_code as "exitCode", phase_reason as reason, is_lost as "isLost"
           from workers
           where endpoint_id = $1 and user_id = $2 and phase = 'EXITED'
             and exited_at > now() - interval '${LISTED_HOURS} hours'
           order by exited_at desc limit ${LISTED}`,
    values: [endpointId, userId],
  });
  return result.rows.map((row) => ({
    ...toWorker(row, endpointVersion, row.endedAt.getTime()),
    reason: row.reason,
    isLost: row.isLost,
    createdAt: row.createdAt,
    endedAt: row.endedAt,
    exitCode: row.exitCode,
  }));
}
