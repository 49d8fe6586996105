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
