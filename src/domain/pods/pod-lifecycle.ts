import type { ClusterId, PodId, UserId } from '../../core/ids.ts';
import { type ColumnMap, selectList } from '../../db/columns.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { type Admin, systemActor } from '../access/actor.ts';
import { deleteWorkloadKeys } from '../access/workload-keys.ts';
import { recordEvent } from '../audit/record-event.ts';
import { CONTAINER_COLUMNS } from '../containers/container-columns.ts';
import type { ContainerConfig, CpuConfig } from '../endpoints/endpoint.ts';
import { withoutOutput } from '../logs/quote-output.ts';
import type { Cloud, PodCondition, PodGpu, PodMounts, PodPort } from './pod.ts';
import { POD_HARDWARE_COLUMNS } from './pod-store.ts';

/** A pod as control sees it: what is wanted, what was observed, and what a start needs. */
export interface ControlledPod extends ContainerConfig, PodCondition {
  id: PodId;
  userId: UserId;
  gpu: PodGpu | null;
  gpuPool: string | null;
  cpu: CpuConfig | null;
  cloud: Cloud;
  dataCenterId: string;
  cudaVersion: string | null;
  mounts: PodMounts;
  startSsh: boolean;
  startJupyter: boolean;
  failures: number;
  notBefore: Date | null;
  /** Why it waits or failed, as last recorded. */
  phaseReason: string | null;
  startedAt: Date | null;
  address: string | null;
  publishedPorts: PodPort[];
  /** Why it is to be stopped or terminated; null: its user wants it. */
  wantedReason: string | null;
  cluster: ClusterPlace | null;
}

/** The facts about the pod's cluster that a start needs. */
export interface ClusterPlace {
  id: ClusterId;
  rank: number;
  podCount: number;
}

const WAITS_FOR_PLACE = 'it waits for a place: ';

/** Returns the reason of a pod that has no place although there seemed to be one. */
export function placeReason(missing: string): string {
  return `${WAITS_FOR_PLACE}${missing}`;
}

/** True for a reason that `placeReason` made. */
export function isWaitingForPlace(reason: string | null): boolean {
  return reason?.startsWith(WAITS_FOR_PLACE) ?? false;
}

const COLUMNS = {
  id: { read: 'id' },
  userId: { read: 'user_id' },
  ...CONTAINER_COLUMNS,
  ...POD_HARDWARE_COLUMNS,
  gpuPool: { read: 'gpu_pool' },
  startSsh: { read: 'start_ssh' },
  startJupyter: { read: 'start_jupyter' },
  wanted: { read: 'wanted' },
  revision: { read: 'revision' },
  phase: { read: 'phase' },
  phaseRevision: { read: 'phase_revision' },
  failures: { read: 'failures' },
  notBefore: { read: 'not_before' },
  phaseReason: { read: 'phase_reason' },
  startedAt: { read: 'started_at' },
  address: { read: 'address' },
  publishedPorts: { read: 'published_ports' },
  wantedReason: { read: 'wanted_reason' },
  cluster: {
    read: `(select json_build_object('id', c.id, 'rank', cluster_rank, 'podCount', c.pod_count)
      from clusters c where c.id = cluster_id)`,
  },
} satisfies ColumnMap<ControlledPod>;

/** Returns the pods of all users that are not gone, terminated ones included, oldest first. */
export async function listControlledPods(db: Db): Promise<ControlledPod[]> {
  const result = await db.query<ControlledPod>({
    name: 'pods-all',
    text: `select ${selectList(COLUMNS)} from pods where gone_at is null order by created_at, id`,
    values: [],
  });
  return result.rows;
}

/** Ends the pod's open run, if any, and its key: CTEs of the statements below. `$1`: the pod. */
const CLOSE_RUN = (endedAt: string) =>
  `key as (${deleteWorkloadKeys('$1')}),
   run as (update pod_runs set ended_at = greatest(started_at, ${endedAt}) where pod_id = $1 and ended_at is null)`;

/** Marks the container of this revision as on its way, with no older one left. False if something else is wanted by now. */
export async function markPodPhase(
  db: Db,
  { id, revision }: ControlledPod,
  phase: 'PROVISIONING' | 'STARTING',
): Promise<boolean> {
  const result = await db.query(
    `with ${CLOSE_RUN('clock_timestamp()')}
     update pods set phase = $3, phase_revision = $2, phase_reason = null, not_before = null, address = null,
       published_ports = '[]', changed_at = now(), failures = case when phase_revision = $2 then failures else 0 end
     where id = $1 and revision = $2 and wanted = 'RUN' and gone_at is null`,
    [id, revision, phase],
  );
  return result.rowCount === 1;
}

/** Records why the container of this revision, which was ordered, does not run yet. */
export async function markPodWaiting(db: Db, { id, revision }: ControlledPod, reason: string): Promise<void> {
  await db.query(
    `update pods set phase_reason = $3, changed_at = now()
     where id = $1 and phase_revision = $2 and revision = $2 and phase = 'STARTING' and wanted = 'RUN' and gone_at is null`,
    [id, revision, reason],
  );
}

/** Marks its container as running: charged from here until a function of this file marks its end. */
export async function markPodRunning(
  db: Db,
  { id, revision }: ControlledPod,
  found: { address: string | null; publishedPorts: readonly PodPort[] },
): Promise<void> {
  await db.query(
    `with run as (
       insert into pod_runs (pod_id, revision, user_id, cluster_id, tariff, gpu_type, gpu_count, cpu_flavor, vcpus, disk_gb)
       select id, $2, user_id, cluster_id, cloud, gpu_type_id, coalesce(gpu_count, 0), cpu ->> 'id',
              coalesce((cpu ->> 'vcpuCount')::int, 0), disk_gb
       from pods where id = $1 and not exists (select from pod_runs where pod_id = $1 and ended_at is null)
     )
     update pods set phase = 'RUNNING', phase_revision = $2, phase_reason = null, address = $3, published_ports = $4,
       started_at = case when phase = 'RUNNING' then started_at else now() end, changed_at = now()
     where id = $1`,
    [id, revision, found.address, JSON.stringify(found.publishedPorts)],
  );
}

/** Marks its container as ended, or as not started; `endedAt` null: now. That Podyard gives a pod up, as ERROR, has an audit entry. */
export async function markPodEnded(pool: Pool, pod: ControlledPod, end: PodEnd): Promise<void> {
  if (end.phase !== 'ERROR') await updatePodEnded(pool, pod, end);
  else
    await transaction(pool, async (db) => {
      const recordName = await updatePodEnded(db, pod, end);
      const reason = end.reason && withoutOutput(end.reason);
      await recordEvent(db, systemActor(pod.userId), { operation: 'pod.fail', recordId: pod.id, recordName, reason });
    });
}

interface PodEnd {
  phase: 'STARTING' | 'EXITED' | 'ERROR';
  reason: string | null;
  endedAt: Date | null;
  failures: number;
  notBefore: Date | null;
}

/** Returns the pod's name. */
async function updatePodEnded(db: Db, { id, revision }: ControlledPod, end: PodEnd): Promise<string | null> {
  const { rows } = await db.query<{ name: string }>(
    `with ${CLOSE_RUN('coalesce($7::timestamptz, clock_timestamp())')}
     update pods set phase = $3, phase_revision = $2, phase_reason = $4, failures = $5, not_before = $6, address = null,
       published_ports = '[]', changed_at = now()
     where id = $1 returning name`,
    [id, revision, end.phase, end.reason, end.failures, end.notBefore, end.endedAt],
  );
  return rows[0]?.name ?? null;
}

/** Marks a terminated pod as gone: its container and storage were removed. */
export async function markPodGone(db: Db, id: PodId): Promise<void> {
  await db.query(
    `with ${CLOSE_RUN('clock_timestamp()')}
     update pods set phase = 'EXITED', address = null, published_ports = '[]', gone_at = now()
     where id = $1 and gone_at is null`,
    [id],
  );
}

/** The actor that ends all pods of a user, and the reason. */
interface EndOfPods {
  userId: UserId;
  by: Admin;
  reason: string;
}

/**
 * Requests that a user's pods are stopped, locked ones too, each with its audit entry. Pods of clusters run on: a cluster is whole or not
 * at all. Returns the ids, to be published after the commit.
 */
export async function stopPodsOfUser(db: Db, end: EndOfPods): Promise<PodId[]> {
  const result = await db.query<{ id: PodId; name: string }>(
    `update pods set wanted = 'STOP', wanted_reason = $2, changed_at = now()
     where user_id = $1 and wanted = 'RUN' and cluster_id is null returning id, name`,
    [end.userId, end.reason],
  );
  return recordEnds(db, 'pod.stop', end, result.rows);
}

/** Requests that a user's pods are removed, locked ones too, except those of clusters. As `stopPodsOfUser`. */
export async function terminatePodsOfUser(db: Db, end: EndOfPods): Promise<PodId[]> {
  const result = await db.query<{ id: PodId; name: string }>(
    `update pods set wanted = 'TERMINATE', wanted_reason = $2, changed_at = now()
     where user_id = $1 and wanted <> 'TERMINATE' and cluster_id is null returning id, name`,
    [end.userId, end.reason],
  );
  return recordEnds(db, 'pod.terminate', end, result.rows);
}

async function recordEnds(
  db: Db,
  operation: 'pod.stop' | 'pod.terminate',
  { userId: ownerId, by, reason }: EndOfPods,
  pods: readonly { id: PodId; name: string }[],
): Promise<PodId[]> {
  for (const { id, name } of pods) {
    await recordEvent(db, by, { operation, recordId: id, recordName: name, ownerId, reason });
  }
  return pods.map(({ id }) => id);
}

/** Deletes pods that are gone, and runs that ended, once they are metered. */
export async function deleteOldPods(db: Db, goneBefore: Date): Promise<void> {
  await db.query(
    `with metered as (select least(metered_until, $1) as until from usage_meter),
          runs as (delete from pod_runs where ended_at < (select until from metered))
     delete from pods where gone_at < (select until from metered)`,
    [goneBefore],
  );
}
