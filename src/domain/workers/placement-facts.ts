import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Claimant } from '../../scaling/because.ts';
import { weightOf } from '../../scaling/releases.ts';
import type { CpuConfig } from '../catalog/cpu-config.ts';
import { REQUESTS_OF_WORKER } from '../endpoints/request-demand.ts';
import { JOBS_OF_WORKER } from '../jobs/jobs-of-worker.ts';
import { SERVING_VERSION } from '../releases/serving-version.ts';
import { workersMinAt } from '../scheduled-floors/floor-now.ts';
import { SCHEDULE_COLUMN } from '../scheduled-floors/floor-store.ts';
import type { FloorSchedule } from '../scheduled-floors/scheduled-floors.ts';

/** Returns the data center of each of these volumes. */
export async function findVolumeDataCenters(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const result = await db.query<{ id: string; dataCenterId: string }>({
    name: 'volume-data-centers',
    text: 'select id, data_center_id as "dataCenterId" from network_volumes where id = any($1::text[])',
    values: [ids],
  });
  return new Map(result.rows.map(({ id, dataCenterId }) => [id, dataCenterId]));
}

/** Returns those of these endpoints that exist, as claimants of what other workloads hold. */
export async function listClaimants(db: Db, endpointIds: readonly string[]): Promise<Map<string, Claimant>> {
  const result = await db.query<{ id: string; name: string; userId: UserId }>({
    name: 'claimants',
    text: 'select id, name, user_id as "userId" from endpoints where id = any($1::text[])',
    values: [endpointIds],
  });
  return new Map(result.rows.map(({ id, ...endpoint }) => [id, { kind: 'endpoint', ...endpoint }]));
}

/** A starting or running worker that holds what others wait for. */
export interface GpuHolder {
  id: WorkerId;
  endpointId: EndpointId;
  userId: UserId;
  version: number;
  /** The release that serves its endpoint. */
  newestVersion: number;
  /** Null without GPUs. */
  pool: string | null;
  gpuTypeId: string | null;
  dataCenterId: string | null;
  count: number;
  /** Since when it has been ready; while it starts, since it has had its place. */
  since: Date;
  isReady: boolean;
  isBusy: boolean;
  /** The weight of its release (scaling/releases.ts). */
  weight: number;
  isLeaving: boolean;
  yieldsTo: EndpointId | null;
  /** `workers.min` of its endpoint, or its scheduled floor. */
  min: number;
}

/** A starting or running worker of a CPU endpoint; without a GPU, so `count` is 0. */
export interface CpuHolder extends GpuHolder {
  /** Null without a place. */
  cpu: CpuConfig | null;
}

/**
 * Returns the workers with GPUs of all users, because they share them, and all workers of `endpointIds`. Without frozen
 * workers, which are evicted when needed.
 */
export function listGpuHolders(db: Db, endpointIds: readonly EndpointId[], now: number): Promise<GpuHolder[]> {
  return listHolders(db, 'gpu', endpointIds, now);
}

/** Returns the same for workers of CPU endpoints. Served by `workers_cpu`. */
export function listCpuHolders(db: Db, endpointIds: readonly EndpointId[], now: number): Promise<CpuHolder[]> {
  return listHolders(db, 'cpu', endpointIds, now);
}

async function listHolders(
  db: Db,
  what: 'gpu' | 'cpu',
  endpointIds: readonly EndpointId[],
  now: number,
): Promise<CpuHolder[]> {
  const holds = what === 'gpu' ? 'w.gpu_pool is not null and w.gpus_released_at is null' : 'w.cpu is not null';
  const result = await db.query<
    Omit<CpuHolder, 'weight'> & { isRolloutPaused: boolean; max: number; schedule: FloorSchedule | null }
  >({
    name: `${what}-holders`,
    text: `select w.id, w.endpoint_id as "endpointId", w.user_id as "userId", w.version, ${SERVING_VERSION} as "newestVersion",
                  w.gpu_pool as pool, w.cpu,
                  w.gpu_type_id as "gpuTypeId", w.data_center_id as "dataCenterId",
                  case when w.gpu_pool is null then 0 else w.gpu_count end as count,
                  coalesce(w.ready_at, (w.timeline ->> 'capacityAt')::timestamptz, w.created_at) as since,
                  w.ready_at is not null as "isReady", w.wanted in ('DRAIN', 'STOP') as "isLeaving",
                  ${JOBS_OF_WORKER} + ${REQUESTS_OF_WORKER} > 0 as "isBusy",
                  coalesce(e.is_rollout_paused, true) as "isRolloutPaused",
                  w.yields_to as "yieldsTo", coalesce(e.workers_min, 0) as min,
                  coalesce(e.workers_max, 0) as max, ${SCHEDULE_COLUMN} as schedule
           from workers w left join endpoints e on e.id = w.endpoint_id
           left join endpoint_schedules s on s.endpoint_id = e.id
           where w.phase in ('STARTING', 'RUNNING') and w.wanted <> 'FREEZE'
             and (${holds} or w.endpoint_id = any($1::text[]))`,
    values: [endpointIds],
  });
  return result.rows.map(({ isRolloutPaused, max, schedule, ...holder }) => ({
    ...holder,
    weight: weightOf({ version: holder.newestVersion, isRolloutPaused }, holder.version),
    min: schedule === null ? holder.min : Math.max(holder.min, Math.min(max, workersMinAt(schedule, now))),
  }));
}

/** A recent start of an endpoint's worker, and the release that serves the endpoint. */
export interface PastStartRow {
  endpointId: EndpointId;
  newestVersion: number;
  version: number;
  placedAt: Date | null;
  readyAt: Date | null;
  exitedAt: Date | null;
  isLost: boolean;
}

/** Workers read of each endpoint: those that ended last, and those that live. */
const RECENT = 20;

/** Returns the last starts of these endpoints: of workers that ended, and of live ones that have a place. */
export async function listPastStarts(db: Db, endpointIds: readonly EndpointId[]): Promise<PastStartRow[]> {
  const columns = `w.version, (w.timeline ->> 'capacityAt')::timestamptz as placed_at, w.ready_at, w.exited_at, w.is_lost`;
  const result = await db.query<PastStartRow>({
    name: 'past-starts',
    text: `select e.id as "endpointId", ${SERVING_VERSION} as "newestVersion", s.version, s.placed_at as "placedAt",
                  s.ready_at as "readyAt", s.exited_at as "exitedAt", s.is_lost as "isLost"
           from endpoints e cross join lateral (
             (select ${columns} from workers w where w.endpoint_id = e.id and w.phase = 'EXITED'
              order by w.exited_at desc limit ${RECENT})
             union all
             (select ${columns} from workers w where w.endpoint_id = e.id and w.phase <> 'EXITED'
                and w.phase in ('STARTING', 'RUNNING', 'FROZEN') limit ${RECENT})) s
           where e.id = any($1::text[])`,
    values: [endpointIds],
  });
  return result.rows;
}
