import type { EndpointId, PodId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { because, type Cause } from '../../scaling/because.ts';
import type { CpusInUse } from '../../scaling/cpu-slots.ts';
import { deleteWorkloadKeys } from '../access/workload-keys.ts';
import type { GpusInUse } from '../catalog/gpus-in-use.ts';
import { storeDecisions } from '../decisions/record-decision.ts';
import type { EndpointType, ReleaseSpec } from '../endpoints/endpoint.ts';
import { REQUESTS_OF_WORKER } from '../endpoints/request-demand.ts';
import { LEASED_BY_WORKER, STOPS_OF_WORKER } from '../jobs/jobs-of-worker.ts';
import { SPEC } from '../releases/release-store.ts';
import { inLockOrder } from './lock-order.ts';

export type WorkerPhase = 'PENDING' | 'STARTING' | 'RUNNING' | 'FROZEN' | 'EXITED';
export type WorkerWanted = 'RUN' | 'FREEZE' | 'DRAIN' | 'STOP';

/** A live worker as control sees it: what is wanted, what was observed, and what it holds. */
export interface ControlledWorker {
  id: WorkerId;
  endpointId: EndpointId;
  endpointType: EndpointType;
  userId: UserId;
  version: number;
  wanted: WorkerWanted;
  wantedReason: string;
  phase: WorkerPhase;
  phaseReason: string | null;
  spec: ReleaseSpec;
  /** Its endpoint has PRIORITY_FLASHBOOT. */
  isPriority: boolean;
  /** Where the endpoint of a pending worker may run, in order of preference; empty for any. Null for others. */
  dataCenterIds: string[] | null;
  gpuPool: string | null;
  gpuTypeId: string | null;
  gpuCount: number;
  dataCenterId: string | null;
  createdAt: Date;
  notBefore: Date | null;
  startedAt: Date | null;
  readyAt: Date | null;
  drainAt: Date | null;
  /** The endpoint for which it leaves. */
  yieldsTo: EndpointId | null;
  lastWorkAt: Date | null;
  unhealthyReason: string | null;
  /** Jobs that keep it busy, or requests in flight. */
  leased: number;
  /** How many jobs it was ordered to stop and still runs, and since when. */
  stopping: number;
  stoppingSince: Date | null;
  /** Its memory when it was last frozen; null before the first time. */
  memoryBytes: number | null;
  frozenAt: Date | null;
  /** When its last thaw was ordered, and when it was done. */
  thawWantedAt: Date | null;
  thawedAt: Date | null;
}

/** Selects workers as control sees them: one without an endpoint ends. `from`: the table, or rows of its shape. */
export const selectControlled = (from: string) => `
  select w.id, w.endpoint_id as "endpointId", w.endpoint_type as "endpointType", w.user_id as "userId", w.version,
  case when e.id is null then 'STOP' else w.wanted end as wanted,
  case when e.id is null then '${because('ENDPOINT_DELETED').reason}' else w.wanted_reason end as "wantedReason",
  w.phase, w.phase_reason as "phaseReason", ${SPEC('w')}, w.gpu_pool as "gpuPool", w.gpu_type_id as "gpuTypeId",
  w.gpu_count as "gpuCount", w.data_center_id as "dataCenterId", w.created_at as "createdAt",
  w.not_before as "notBefore", w.started_at as "startedAt", w.ready_at as "readyAt", w.drain_at as "drainAt", w.yields_to as "yieldsTo", a.last_work_at as "lastWorkAt",
  a.unhealthy_reason as "unhealthyReason", w.memory_bytes as "memoryBytes", w.frozen_at as "frozenAt",
  w.thaw_wanted_at as "thawWantedAt", w.thawed_at as "thawedAt",
  coalesce(e.flashboot = 'PRIORITY_FLASHBOOT', false) as "isPriority",
  case w.phase when 'PENDING' then coalesce(e.data_center_ids, '{}') end as "dataCenterIds",
  ${LEASED_BY_WORKER} + stops.count + ${REQUESTS_OF_WORKER} as leased, stops.count as stopping, stops.since as "stoppingSince"
  from ${from} w
  left join worker_activity a on a.worker_id = w.id left join endpoints e on e.id = w.endpoint_id
  cross join lateral (select count(*), min(created_at) as since from ${STOPS_OF_WORKER}) stops`;

/** Returns the live ones of these workers, or all live workers of these endpoints; oldest first. */
export async function listControlledWorkers(
  db: Db,
  of: { ids: readonly WorkerId[] } | { endpointIds: readonly EndpointId[] },
): Promise<ControlledWorker[]> {
  const result = await db.query<ControlledWorker>({
    name: 'ids' in of ? 'workers-known' : 'workers-of',
    text: `${selectControlled('workers')}
           where w.phase <> 'EXITED' and ${'ids' in of ? 'w.id' : 'w.endpoint_id'} = any($1::text[])
           order by w.created_at, w.id`,
    values: ['ids' in of ? of.ids : of.endpointIds],
  });
  return result.rows;
}

/** Stores why a worker waits for a place. Clears an earlier failure. */
export async function markPending(db: Db, id: WorkerId, reason: string): Promise<void> {
  await db.query(
    `update workers set phase_reason = $2, is_lost = false
     where id = $1 and phase = 'PENDING' and (phase_reason is distinct from $2 or is_lost)`,
    [id, reason],
  );
}

/** Stores what blocks a worker's start: it waits, shown as unhealthy. */
export async function markBlocked(db: Db, id: WorkerId, reason: string): Promise<void> {
  await db.query(`update workers set phase_reason = $2, is_lost = true where id = $1 and phase = 'PENDING'`, [
    id,
    reason,
  ]);
}

/** Stores what a starting worker waits for; null: nothing any more. */
export async function markWaiting(db: Db, id: WorkerId, reason: string | null): Promise<void> {
  await db.query(`update workers set phase_reason = $2 where id = $1 and phase = 'STARTING'`, [id, reason]);
}

/** Marks a starting worker as unplaced, without a failure: it has lost its place and gets none before `until`. */
export async function markUnplaced(db: Db, id: WorkerId, reason: string, until: Date): Promise<void> {
  await db.query(
    `with key as (${deleteWorkloadKeys('$1')})
     update workers set phase = 'PENDING', phase_reason = $2, is_lost = false, not_before = $3, token_hash = null,
       gpu_pool = null, gpu_type_id = null, data_center_id = null, cpu = null
     where id = $1 and phase in ('PENDING', 'STARTING')`,
    [id, reason, until],
  );
}

/** Stores when the pull for a waiting worker, or the fetch of its models, began and ended, and how far it is. An earlier failure stays. */
export async function markBringing(
  db: Db,
  id: WorkerId,
  stage: 'pull' | 'models',
  { begunAt, endedAt, progress }: { begunAt: Date; endedAt: Date | null; progress: string | null },
): Promise<void> {
  await db.query(
    `update workers set phase_reason = case when is_lost then phase_reason else $5 end,
       timeline = timeline || jsonb_strip_nulls(jsonb_build_object($4 || 'From', $2::timestamptz, $4 || 'At', $3::timestamptz))
     where id = $1 and phase = 'PENDING'`,
    [id, begunAt, endedAt, stage, progress],
  );
}

/** Marks when the models of a worker with a place begin to be copied to its machine, and when they are there. */
export async function markCopying(db: Db, id: WorkerId, areThere: boolean): Promise<void> {
  const marks = areThere ? `'copyAt', now()` : `'createAt', now(), 'copyFrom', now()`;
  await db.query(
    `update workers set timeline = (timeline - 'copyAt') || jsonb_build_object(${marks}) where id = $1 and phase = 'STARTING'`,
    [id],
  );
}

/** How long after its placement the image was there and the container created. */
interface StartMarks {
  pullMs: number;
  createMs: number;
}

/** A worker whose container runs. */
export interface RunningWorker {
  id: WorkerId;
  address: string | null;
  marks: StartMarks | null;
}

/** Marks workers as running; `marks` become times of the database's clock, like the rest of the timeline. */
export async function markRunning(db: Db, workers: readonly RunningWorker[]): Promise<void> {
  const rows = inLockOrder(workers).map(({ marks, ...worker }) => ({ ...worker, ...marks }));
  await db.query({
    name: 'workers-running',
    text: `update workers w set phase = 'RUNNING', phase_reason = null, address = n.address,
             started_at = coalesce(started_at, now()),
             timeline = case when n."pullMs" is null then '{}' else jsonb_build_object(
                 'pullAt', (timeline ->> 'capacityAt')::timestamptz + n."pullMs" * interval '1 millisecond',
                 'createAt', (timeline ->> 'capacityAt')::timestamptz + n."createMs" * interval '1 millisecond') end
               || timeline || jsonb_build_object('startAt', now())
           from jsonb_to_recordset($1::jsonb) as n(id text, address text, "pullMs" float8, "createMs" float8)
           where w.id = n.id and phase in ('PENDING', 'STARTING')`,
    values: [JSON.stringify(rows)],
  });
}

/** The end of a worker. */
export interface ExitedWorker {
  id: WorkerId;
  code: number | null;
  /** Null: it ended because it was ordered to; the order has the cause. */
  cause: Cause | null;
  reason: string;
  isLost: boolean;
}

/** Marks workers as ended, and revokes their tokens. Stores a decision for each that was not ordered to leave. */
export async function markExited(db: Db, workers: readonly ExitedWorker[]): Promise<void> {
  await db.query({
    name: 'workers-exited',
    text: `with n as (
             select * from jsonb_to_recordset($1::jsonb)
               as n(id text, code int, cause text, reason text, "isLost" boolean)),
           old as (select w.id, w.wanted from workers w join n on n.id = w.id where w.phase <> 'EXITED'
                   order by w.id for update of w),
           keys as (${deleteWorkloadKeys('select id from n')}),
           gone as (delete from worker_activity using n where worker_id = n.id),
           orders as (delete from job_stops using n where worker_id = n.id),
           changed as (
             update workers w set phase = 'EXITED', exited_at = now(), exit_code = n.code, phase_reason = n.reason,
               is_lost = n."isLost", token_hash = null
             from n join old on old.id = n.id where w.id = n.id and w.phase <> 'EXITED'
             returning w.id, w.endpoint_id, 'exit' as kind, n.cause, n.reason, old.wanted),
           ${storeDecisions('changed')}
           select from changed`,
    values: [JSON.stringify(workers)],
  });
}

/** Marks a worker as frozen, with the memory it still holds. False if it has ended. */
export async function markFrozen(db: Db, id: WorkerId, memoryBytes: number): Promise<boolean> {
  const result = await db.query(
    `with frozen as (
       update workers set phase = 'FROZEN', frozen_at = now(), memory_bytes = $2, serving_at = null
       where id = $1 and phase = 'RUNNING' returning id
     )
     insert into worker_freezes (worker_id, frozen_at) select id, now() from frozen`,
    [id, memoryBytes],
  );
  return result.rowCount === 1;
}

/** Marks a worker as thawed. Renews its last contact, or it would count as silent. False if it has ended. */
export async function markThawed(db: Db, id: WorkerId): Promise<boolean> {
  const result = await db.query(
    `with thawed as (
       update workers set phase = 'RUNNING', frozen_at = null, thawed_at = now(), phase_reason = null
       where id = $1 and phase = 'FROZEN' returning id, thaw_wanted_at
     ), seen as (update worker_activity set seen_at = now() where worker_id = $1)
     update worker_freezes f set thawed_at = now(), thaw_wanted_at = t.thaw_wanted_at
     from thawed t where f.worker_id = t.id and f.thawed_at is null`,
    [id],
  );
  return result.rowCount === 1;
}

/**
 * Returns the GPUs in use by pool, type and data center: those of live workers, frozen ones included unless they sleep, and of
 * pods that run or are to run. A stopped pod keeps its place until its container is gone. `exceptPodId` leaves out one pod; `withFrozen: false`
 * leaves out frozen workers, which can be evicted. `of`: those of pods alone are read faster, because there may be thousands of workers.
 */
export async function listGpusInUse(
  db: Db,
  {
    exceptPodId = null,
    withFrozen = true,
    of = 'all',
  }: { exceptPodId?: PodId | null; withFrozen?: boolean; of?: 'all' | 'workers' | 'pods' } = {},
): Promise<GpusInUse[]> {
  const result = await db.query<GpusInUse>({
    name: 'gpus-in-use',
    text: gpusInUse(`
             select gpu_pool, gpu_type_id, data_center_id, gpu_count from workers
             where $3 <> 'pods' and phase in ('STARTING', 'RUNNING', 'FROZEN') and gpu_pool is not null and gpus_released_at is null
               and ($2 or phase <> 'FROZEN' or wanted = 'RUN')
             union all
             ${PODS_WITH_GPUS} and $3 <> 'workers' and id is distinct from $1`),
    values: [exceptPodId, withFrozen, of],
  });
  return result.rows;
}

const gpusInUse = (given: string) => `
  select gpu_pool as pool, gpu_type_id as "gpuTypeId", data_center_id as "dataCenterId", sum(gpu_count)::int8 as count
  from (${given}) as given group by 1, 2, 3`;

const PODS_WITH_GPUS = `
  select gpu_pool, gpu_type_id, data_center_id, gpu_count from pods
  where gone_at is null and gpu_pool is not null
    and (phase in ('STARTING', 'RUNNING')
         or wanted = 'RUN' and not (phase = 'ERROR' and phase_revision = revision))`;

/** A query without values for the GPUs in use by pods, as `listGpusInUse` returns them. */
export const GPUS_OF_PODS = gpusInUse(PODS_WITH_GPUS);

/**
 * Returns the vCPUs in use: those of workers of CPU endpoints that start or run, without frozen ones, and of CPU pods as
 * `listGpusInUse` counts them. Served by `workers_cpu` and `pods_live`.
 */
export async function listCpusInUse(db: Db): Promise<CpusInUse[]> {
  const result = await db.query<CpusInUse>({
    name: 'cpus-in-use',
    text: `select cpu, data_center_id as "dataCenterId", count(*)::int8 as count
           from (
             select cpu, data_center_id from workers where phase in ('STARTING', 'RUNNING') and cpu is not null
             union all
             select cpu, data_center_id from pods
             where gone_at is null and cpu is not null
               and (phase in ('STARTING', 'RUNNING')
                    or wanted = 'RUN' and not (phase = 'ERROR' and phase_revision = revision))
           ) as given group by 1, 2`,
    values: [],
  });
  return result.rows;
}
