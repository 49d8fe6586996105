import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { readLimits } from './limit-store.ts';

/** Queued jobs, and the bytes of their payloads. */
export interface QueueTally {
  jobs: number;
  bytes: number;
}

/** Counts what all endpoints of a user have queued. Reads only counters: the cost does not grow with the queue. */
export async function readQueueTally(db: Db, userId: UserId): Promise<QueueTally> {
  const result = await db.query<QueueTally>({
    name: 'user-queued',
    text: `select coalesce(sum(k.queued + k.queued_low), 0)::int8 as jobs, coalesce(sum(k.queued_bytes), 0)::int8 as bytes
           from endpoints e join endpoint_counters k on k.endpoint_id = e.id where e.user_id = $1`,
    values: [userId],
  });
  return result.rows[0]!;
}

const RECORDS = {
  endpoints: 'endpoints where user_id = $1',
  pods: "pods where user_id = $1 and wanted <> 'TERMINATE'",
};

/** Counts a user's endpoints, or pods with stopped ones. */
export async function countRecords(db: Db, userId: UserId, name: keyof typeof RECORDS): Promise<number> {
  const text = `select count(*) as count from ${RECORDS[name]}`;
  const result = await db.query<{ count: number }>({ name: `count-${name}`, text, values: [userId] });
  return result.rows[0]!.count;
}

/** Resources that a user's workers and pods hold. Frozen workers don't count: they give way to whatever needs their GPUs. */
export interface ComputeUse {
  /** Workers that run, start or wait for a place, and their GPUs with those of pods that run or are to run. */
  workers: number;
  gpus: number;
  /** Those that have a place. */
  placedWorkers: number;
  placedGpus: number;
}

export const NO_COMPUTE: ComputeUse = { workers: 0, gpus: 0, placedWorkers: 0, placedGpus: 0 };

/** Pods that have their GPUs: as `listGpusInUse` counts them by place. */
const HOLDING_PODS = `pods where user_id = any($1::text[]) and gone_at is null and gpu_pool is not null
  and id is distinct from $2
  and (phase in ('STARTING', 'RUNNING') or wanted = 'RUN' and not (phase = 'ERROR' and phase_revision = revision))`;

/** Adds up what users hold, without the pod `exceptPodId`. Users without anything are missing. Served by workers_by_user. */
export async function readComputeUse(
  db: Db,
  userIds: readonly UserId[],
  exceptPodId: string | null = null,
): Promise<Map<UserId, ComputeUse>> {
  const { rows } = await db.query<ComputeUse & { userId: UserId }>({
    name: 'compute-of-users',
    text: `select user_id as "userId", coalesce(sum(workers), 0)::int8 as workers, coalesce(sum(gpus), 0)::int8 as gpus,
                  coalesce(sum(workers) filter (where is_placed), 0)::int8 as "placedWorkers",
                  coalesce(sum(gpus) filter (where is_placed), 0)::int8 as "placedGpus"
           from (
             select user_id, phase <> 'PENDING' as is_placed, count(*) as workers, sum(gpu_count) as gpus
             from workers where user_id = any($1::text[]) and phase <> 'EXITED' and wanted <> 'FREEZE' group by 1, 2
             union all
             select user_id, true, 0, sum(gpu_count) from ${HOLDING_PODS} group by 1
           ) as held group by 1`,
    values: [userIds, exceptPodId],
  });
  return new Map(rows.map(({ userId, ...use }) => [userId, use]));
}

/** Use that is counted by row: endpoints, pods with stopped ones, and the queue. */
export interface RecordCounts {
  endpoints: number;
  pods: number;
  queuedJobs: number;
  queuedBytes: number;
}

/** Counts for each of these users. */
export async function readRecordCounts(db: Db, userIds: readonly UserId[]): Promise<Map<UserId, RecordCounts>> {
  const { rows } = await db.query<RecordCounts & { userId: UserId }>({
    name: 'records-of-users',
    text: `select u.id as "userId", e.count as endpoints, p.count as pods,
                  greatest(q.jobs, 0)::int8 as "queuedJobs", greatest(q.bytes, 0)::int8 as "queuedBytes"
           from unnest($1::text[]) as u(id)
           cross join lateral (select count(*) as count from endpoints where user_id = u.id) e
           cross join lateral (select count(*) as count from pods where user_id = u.id and wanted <> 'TERMINATE') p
           cross join lateral (
             select coalesce(sum(k.queued + k.queued_low), 0) as jobs, coalesce(sum(k.queued_bytes), 0) as bytes
             from endpoints o join endpoint_counters k on k.endpoint_id = o.id where o.user_id = u.id) q`,
    values: [userIds],
  });
  return new Map(rows.map(({ userId, ...counts }) => [userId, counts]));
}

/** Adds up the GPUs that users' pods hold. Users without any are missing. */
export async function readPodGpus(
  db: Db,
  userIds: readonly UserId[],
  exceptPodId: string | null = null,
): Promise<Map<UserId, number>> {
  const { rows } = await db.query<{ userId: UserId; gpus: number }>({
    name: 'pod-gpus-of-users',
    text: `select user_id as "userId", sum(gpu_count)::int8 as gpus from ${HOLDING_PODS} group by 1`,
    values: [userIds, exceptPodId],
  });
  return new Map(rows.map(({ userId, gpus }) => [userId, gpus]));
}

/**
 * True when a pod with `more` GPUs of `total` would take what the quotas of other users hold back. Workers return borrowed GPUs, but a pod
 * keeps its own: beyond its user's quota, a pod must leave enough for all others. The caller holds the lock for GPU allocation.
 */
export async function takesFromQuotas(
  db: Db,
  userId: UserId,
  { more, total, exceptPodId }: { more: number; total: number; exceptPodId: string | null },
): Promise<boolean> {
  const { rows } = await db.query<{ id: UserId; hasQuota: boolean }>({
    name: 'gpu-quotas',
    text: `select u.id, exists (
             select from user_limits l where l.name = 'gpuQuota' and (l.user_id = u.id or l.user_id is null)) as "hasQuota"
           from users u`,
  });
  if (!rows.some(({ hasQuota }) => hasQuota)) return false;
  const ids = rows.map(({ id }) => id);
  const [limits, podGpus] = await Promise.all([readLimits(db, ids), readPodGpus(db, ids, exceptPodId)]);
  const held = (id: UserId) => podGpus.get(id) ?? 0;
  const quota = (id: UserId) => limits.get(id)!.gpuQuota ?? 0;
  if (held(userId) + more <= quota(userId)) return false;
  const ofPods = ids.reduce((sum, id) => sum + held(id), 0);
  const heldBack = ids.reduce((sum, id) => sum + (id === userId ? 0 : Math.max(0, quota(id) - held(id))), 0);
  return total - ofPods - more < heldBack;
}
