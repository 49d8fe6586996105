import { notFound } from '../../core/errors.ts';
import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import { type Db, foundRow } from '../../db/pool.ts';
import type { CpuConfig } from '../catalog/cpu-config.ts';
import { REQUESTS_OF_WORKER } from '../endpoints/request-demand.ts';
import { JOBS_OF_WORKER, STOPPING_OF_WORKER } from '../jobs/jobs-of-worker.ts';
import type { WorkerPhase } from './worker-lifecycle.ts';
import { NO_CAPACITY, type WorkerCondition } from './worker-status.ts';
import type { TimelineMarks } from './worker-timeline.ts';

/** A live worker with the condition that its status derives from. */
export interface LiveWorkerRow extends WorkerCondition {
  id: WorkerId;
  version: number;
  image: string;
  gpuCount: number;
  gpuTypeId: string | null;
  dataCenterId: string | null;
  startedAt: Date | null;
}

/** True for a row of `workers w` that was ready once, but fails its health check now; `phase_reason` says how. */
const IS_OUT_OF_SERVICE = `w.endpoint_type = 'LOAD_BALANCING' and w.phase = 'RUNNING' and w.ready_at is not null
  and w.serving_at is null`;

const WORKERS = 'workers w left join worker_activity a on a.worker_id = w.id';

/** The columns of `WORKERS` that make a WorkerCondition, for both endpoint types. */
const CONDITION_COLUMNS = `
  w.phase, w.phase_reason as "phaseReason", w.is_lost as "isLost",
  case w.endpoint_type when 'LOAD_BALANCING' then w.serving_at else w.ready_at end is not null as "isReady",
  coalesce(a.unhealthy_reason, case when ${IS_OUT_OF_SERVICE} then w.phase_reason end) as "unhealthyReason",
  ${JOBS_OF_WORKER} + ${REQUESTS_OF_WORKER} > 0 as "isBusy", ${STOPPING_OF_WORKER} > 0 as "isStoppingJob"`;

const WORKER_COLUMNS = `
  w.id, w.version, w.spec->>'image' as "image", w.gpu_count as "gpuCount", w.gpu_type_id as "gpuTypeId",
  w.data_center_id as "dataCenterId", w.started_at as "startedAt", ${CONDITION_COLUMNS}`;

/** Oldest first; a worker whose container has ended is not live, nor is a frozen one (docs/interface/rest.md, "Workers"). */
export async function listLiveWorkerRows(db: Db, userId: UserId, endpointId: EndpointId): Promise<LiveWorkerRow[]> {
  const result = await db.query<LiveWorkerRow>(
    `select ${WORKER_COLUMNS}
     from ${WORKERS}
     where w.endpoint_id = $1 and w.user_id = $2 and w.phase not in ('FROZEN', 'EXITED')
     order by w.created_at, w.id`,
    [endpointId, userId],
  );
  return result.rows;
}

/** A live, frozen or ended worker. */
export interface WorkerDetailRow extends Omit<LiveWorkerRow, 'phase'> {
  phase: WorkerPhase;
  wantedReason: string;
  createdAt: Date;
  exitedAt: Date | null;
  exitCode: number | null;
  timeline: TimelineMarks;
  frozenAt: Date | null;
  memoryBytes: number | null;
  cpu: CpuConfig | null;
}

/** Throws `notFound` unless the worker belongs to the user's endpoint. */
export async function getWorkerDetailRow(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  workerId: WorkerId,
): Promise<WorkerDetailRow> {
  return foundRow(
    await db.query<WorkerDetailRow>(
      `select ${WORKER_COLUMNS}, w.wanted_reason as "wantedReason", w.created_at as "createdAt", w.timeline,
            w.exited_at as "exitedAt", w.exit_code as "exitCode", w.frozen_at as "frozenAt", w.memory_bytes as "memoryBytes",
            w.cpu
     from ${WORKERS}
     where w.id = $1 and w.endpoint_id = $2 and w.user_id = $3`,
      [workerId, endpointId, userId],
    ),
    'Worker',
  );
}

/** Returns the live workers of all the user's endpoints. */
export async function listWorkerConditions(
  db: Db,
  userId: UserId,
): Promise<(WorkerCondition & { endpointId: EndpointId })[]> {
  const result = await db.query<WorkerCondition & { endpointId: EndpointId }>({
    name: 'account-workers',
    text: `select w.endpoint_id as "endpointId", ${CONDITION_COLUMNS}
           from ${WORKERS} where w.user_id = $1 and w.phase not in ('FROZEN', 'EXITED')`,
    values: [userId],
  });
  return result.rows;
}

/** The number of live workers of an endpoint in the same condition. */
export interface WorkerGroup extends WorkerCondition {
  endpointId: EndpointId;
  /** The GPU pool of their place; null before they have one, and without GPUs. */
  pool: string | null;
  count: number;
}

/** Counts the live workers of all users by condition; frozen ones are not live. Reasons are reduced to what a status needs. */
export async function groupLiveWorkers(db: Db): Promise<WorkerGroup[]> {
  const result = await db.query<WorkerGroup>({
    name: 'workers-grouped',
    text: `select g."endpointId", g.pool, g.phase, case when starts_with(g."phaseReason", $1) then $1 end as "phaseReason",
                  g."isLost", g."isReady", g."isBusy", g."isStoppingJob", case when g."unhealthyReason" is not null then '' end as "unhealthyReason",
                  count(*)::int8 as count
           from (select w.endpoint_id as "endpointId", w.gpu_pool as pool, ${CONDITION_COLUMNS}
                 from ${WORKERS} where w.phase not in ('FROZEN', 'EXITED')) g
           group by 1, 2, 3, 4, 5, 6, 7, 8, 9`,
    values: [NO_CAPACITY],
  });
  return result.rows;
}

/** Throws `notFound` unless the user's endpoint has or had the worker: log lines outlive the record of an ended one. */
export async function checkLoggedWorker(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  workerId: WorkerId,
): Promise<void> {
  const result = await db.query(
    `select from workers where id = $1 and endpoint_id = $2 and user_id = $3
     union all
     (select from log_lines where workload_id = $1 and endpoint_id = $2
        and not exists (select from workers where id = $1) limit 1)`,
    [workerId, endpointId, userId],
  );
  if (result.rowCount === 0) throw notFound('Worker');
}

/** Deletes workers that ended before a time, once their usage is metered, and last contacts written after a worker's exit. */
export async function deleteOldWorkers(db: Db, exitedBefore: Date): Promise<void> {
  await db.query(
    `delete from workers
     where phase = 'EXITED' and exited_at < $1 and exited_at <= (select metered_until from usage_meter)`,
    [exitedBefore],
  );
  await db.query(
    `delete from worker_activity a
     where not exists (select from workers w where w.id = a.worker_id and w.phase <> 'EXITED')`,
  );
}

/** Returns the live workers of each of a user's endpoints, in one query; endpoints without any are missing. */
export async function listWorkerIds(db: Db, userId: UserId): Promise<Map<EndpointId, WorkerId[]>> {
  const result = await db.query<{ endpointId: EndpointId; ids: WorkerId[] }>(
    `select endpoint_id as "endpointId", array_agg(id order by created_at, id) as ids from workers
     where user_id = $1 and phase not in ('FROZEN', 'EXITED') group by endpoint_id`,
    [userId],
  );
  return new Map(result.rows.map(({ endpointId, ids }) => [endpointId, ids]));
}
