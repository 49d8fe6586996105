import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { toWorker, type Worker } from './list-workers.ts';

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
