import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { ReleaseSpec } from '../endpoints/endpoint.ts';

export type WorkerPhase = 'PENDING' | 'STARTING' | 'RUNNING' | 'EXITED';
export type WorkerWanted = 'RUN' | 'DRAIN' | 'STOP';

/** A live worker as control sees it: what is wanted, what was observed, what it holds. */
export interface ControlledWorker {
  id: WorkerId;
  endpointId: EndpointId;
  userId: UserId;
  version: number;
  wanted: WorkerWanted;
  wantedReason: string;
  phase: WorkerPhase;
  phaseReason: string | null;
  spec: ReleaseSpec;
  gpuPool: string | null;
  gpuTypeId: string | null;
  gpuCount: number;
  dataCenterId: string | null;
  createdAt: Date;
  notBefore: Date | null;
  startedAt: Date | null;
  readyAt: Date | null;
  drainAt: Date | null;
  lastWorkAt: Date | null;
  unhealthyReason: string | null;
  leased: number;
}

const COLUMNS = `
  w.id, w.endpoint_id as "endpointId", w.user_id as "userId", w.version, w.wanted, w.wanted_reason as "wantedReason",
  w.phase, w.phase_reason as "phaseReason", w.spec, w.gpu_pool as "gpuPool", w.gpu_type_id as "gpuTypeId",
  w.gpu_count as "gpuCount", w.data_center_id as "dataCenterId", w.created_at as "createdAt",
  w.not_before as "notBefore", w.started_at as "startedAt", w.ready_at as "readyAt", w.drain_at as "drainAt", a.last_work_at as "lastWorkAt",
  a.unhealthy_reason as "unhealthyReason",
  (select count(*) from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS') as leased`;

/** All live workers, or those of the given endpoints; oldest first. */
export async function listControlledWorkers(
  db: Db,
  endpointIds: readonly EndpointId[] | null,
): Promise<ControlledWorker[]> {
  const result = await db.query<ControlledWorker>({
    name: endpointIds ? 'workers-of' : 'workers-all',
    text: `select ${COLUMNS} from workers w left join worker_activity a on a.worker_id = w.id
           where w.phase <> 'EXITED' ${endpointIds ? 'and w.endpoint_id = any($1::text[])' : ''}
           order by w.created_at, w.id`,
    values: endpointIds ? [endpointIds] : [],
  });
  return result.rows;
}

/** A new worker on the endpoint's newest release. With `pause` it waits, shown as unhealthy, until that time. */
export async function insertWorker(
  db: Db,
  worker: { id: WorkerId; endpointId: EndpointId; reason: string; pause: { until: Date; reason: string } | null },
): Promise<boolean> {
  const result = await db.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, gpu_count, not_before, phase_reason, is_lost)
     select $1, e.id, e.user_id, e.version, $3, r.spec, coalesce(e.gpu_count, 0), $4::timestamptz, $5, $4::timestamptz is not null
     from endpoints e join releases r on r.endpoint_id = e.id and r.version = e.version
     where e.id = $2`,
    [worker.id, worker.endpointId, worker.reason, worker.pause?.until ?? null, worker.pause?.reason ?? null],
  );
  return result.rowCount === 1;
}

/** It gets no more work and ends when its jobs are done. */
export async function drainWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  const result = await db.query(
    "update workers set wanted = 'DRAIN', wanted_reason = $2, drain_at = now() where id = $1 and wanted = 'RUN'",
    [id, reason],
  );
  return result.rowCount === 1;
}

export async function stopWorker(db: Db, id: WorkerId, reason: string): Promise<void> {
  await db.query("update workers set wanted = 'STOP', wanted_reason = $2 where id = $1 and wanted <> 'STOP'", [
    id,
    reason,
  ]);
}

/** Notes why a worker waits. */
export async function notePending(db: Db, id: WorkerId, reason: string): Promise<void> {
  await db.query('update workers set phase_reason = $2 where id = $1 and phase_reason is distinct from $2', [
    id,
    reason,
  ]);
}

/** It has a place, and a token of its own from now on. */
export async function noteStarting(
  db: Db,
  id: WorkerId,
  place: { pool: string | null; gpuTypeId: string | null; dataCenterId: string | null; tokenHash: Buffer },
): Promise<void> {
  await db.query(
    `update workers set phase = 'STARTING', phase_reason = null, is_lost = false, gpu_pool = $2, gpu_type_id = $3,
       data_center_id = $4, token_hash = $5, timeline = timeline || jsonb_build_object('capacityAt', now())
     where id = $1`,
    [id, place.pool, place.gpuTypeId, place.dataCenterId, place.tokenHash],
  );
}

/** Adds a stage to the worker's timeline: pullAt (the image is here), startAt (the container runs). */
export async function noteStage(db: Db, id: WorkerId, stage: 'pullAt' | 'startAt'): Promise<void> {
  await db.query('update workers set timeline = timeline || jsonb_build_object($2::text, now()) where id = $1', [
    id,
    stage,
  ]);
}

export async function noteRunning(db: Db, id: WorkerId, address: string | null): Promise<void> {
  await db.query(
    `update workers set phase = 'RUNNING', phase_reason = null, address = $2, started_at = coalesce(started_at, now()),
       timeline = timeline || jsonb_build_object('startAt', now())
     where id = $1 and phase in ('PENDING', 'STARTING')`,
    [id, address],
  );
}

/** The end of a worker. Its token is worth nothing from here on. */
export async function noteExited(
  db: Db,
  id: WorkerId,
  exit: { code: number | null; reason: string; isLost: boolean },
): Promise<void> {
  await db.query(
    `with gone as (delete from worker_activity where worker_id = $1), told as (delete from job_stops where worker_id = $1)
     update workers set phase = 'EXITED', exited_at = now(), exit_code = $2, phase_reason = $3, is_lost = $4, token_hash = null
     where id = $1 and phase <> 'EXITED'`,
    [id, exit.code, exit.reason, exit.isLost],
  );
}

/** GPUs in use by pool and data centre: what live workers were given. */
export async function listGpusInUse(db: Db): Promise<{ pool: string; dataCenterId: string; count: number }[]> {
  const result = await db.query<{ pool: string; dataCenterId: string; count: number }>({
    name: 'gpus-in-use',
    text: `select gpu_pool as pool, data_center_id as "dataCenterId", sum(gpu_count)::int8 as count from workers
           where phase in ('STARTING', 'RUNNING') and gpu_pool is not null group by 1, 2`,
  });
  return result.rows;
}
