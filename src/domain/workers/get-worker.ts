import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { CpuConfig } from '../catalog/cpu-config.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { toWorker, type Worker } from './list-workers.ts';
import { type WorkerStatus, workerReason, workerStatus } from './worker-status.ts';
import { getWorkerDetailRow, type WorkerDetailRow } from './worker-store.ts';
import { type Stage, workerStages } from './worker-timeline.ts';

export interface WorkerDetail extends Omit<Worker, 'status'> {
  status: WorkerStatus | 'FROZEN' | 'EXITED';
  /** The reason of its wanted state. */
  decision: string;
  /** The CPUs of a CPU endpoint's worker; null without a place, and on GPUs. */
  cpu: CpuConfig | null;
  createdAt: Date;
  frozenAt: Date | null;
  frozenMemoryBytes: number | null;
  endedAt: Date | null;
  exitCode: number | null;
  timeline: Stage[];
}

/** Returns a live, frozen or ended worker, as long as its logs are kept. Throws `notFound`. */
export async function getWorker(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  workerId: WorkerId,
  now: number,
): Promise<WorkerDetail> {
  const endpoint = await getEndpointRow(db, userId, endpointId);
  const row = await getWorkerDetailRow(db, userId, endpointId, workerId);
  return {
    ...condition(row),
    ...toWorker(row, endpoint.version, row.exitedAt?.getTime() ?? now),
    decision: row.wantedReason,
    cpu: row.cpu,
    createdAt: row.createdAt,
    frozenAt: row.frozenAt,
    frozenMemoryBytes: row.memoryBytes,
    endedAt: row.exitedAt,
    exitCode: row.exitCode,
    timeline: workerStages({ createdAt: row.createdAt, endedAt: row.exitedAt }, row.timeline),
  };
}

function condition(row: WorkerDetailRow): Pick<WorkerDetail, 'status' | 'reason'> {
  const { phase } = row;
  if (phase === 'EXITED') return { status: phase, reason: row.phaseReason };
  if (phase === 'FROZEN') return { status: phase, reason: row.wantedReason };
  return { status: workerStatus({ ...row, phase }), reason: workerReason({ ...row, phase }) };
}
