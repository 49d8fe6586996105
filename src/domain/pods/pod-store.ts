import type { ClusterId, PodId, UserId } from '../../core/ids.ts';
import {
  assignments,
  type ColumnMap,
  column,
  insertedRow,
  insertValues,
  jsonColumn,
  selectList,
  updatedRow,
} from '../../db/columns.ts';
import { type Db, foundRow, type RowLock } from '../../db/pool.ts';
import { podUsdPerHour } from '../billing/price-list.ts';
import type { ClusterPhase } from '../clusters/cluster.ts';
import { CONTAINER_COLUMNS } from '../containers/container-columns.ts';
import { isHolding, type Pod, type PodCondition, type PodGpu, podActions, podStatus } from './pod.ts';
import type { PodLifetime } from './pod-lifetime.ts';

/** Members that a Pod derives from its row instead of reading them. */
type Derived = 'status' | 'statusReason' | 'actions' | 'costPerHour';
type PodRow = Omit<Pod, Derived> &
  PodCondition & {
    phaseReason: string | null;
    wantedReason: string | null;
    clusterPhase: ClusterPhase | null;
    clusterReason: string | null;
  };

/** The part of a pod that a create or an update writes. */
type PodSettings = Omit<
  Pod,
  | Derived
  | 'id'
  | 'userId'
  | 'cluster'
  | keyof PodLifetime
  | 'address'
  | 'publishedPorts'
  | 'createdAt'
  | 'startedAt'
  | 'changedAt'
>;

/** The hardware and mounts of a pod. */
export const POD_HARDWARE_COLUMNS = {
  gpu: {
    read: `case when gpu_type_id is not null then jsonb_build_object('id', gpu_type_id, 'count', gpu_count) || gpu_rule end`,
    write: (gpu) => ({
      gpu_type_id: gpu?.id ?? null,
      gpu_count: gpu?.count ?? null,
      gpu_rule: JSON.stringify(gpuRuleOf(gpu)),
    }),
  },
  cpu: jsonColumn('cpu'),
  cloud: column('cloud'),
  mounts: {
    read: `json_build_object(
      'persistent', case when persistent_path is not null then
        json_build_object('sizeGb', persistent_size_gb, 'path', persistent_path) end,
      'network', case when network_volume_path is not null then
        json_build_object('volumeId', network_volume_id, 'path', network_volume_path) end)`,
    write: ({ persistent, network }) => ({
      persistent_size_gb: persistent?.sizeGb ?? null,
      persistent_path: persistent?.path ?? null,
      network_volume_id: network?.volumeId ?? null,
      network_volume_path: network?.path ?? null,
    }),
  },
  dataCenterId: column('data_center_id'),
  cudaVersion: column('cuda_version'),
} satisfies ColumnMap<Pick<Pod, 'gpu' | 'cpu' | 'cloud' | 'mounts' | 'dataCenterId' | 'cudaVersion'>>;

/** The columns of what is set on a pod. */
export const POD_SETTING_COLUMNS = {
  name: column('name'),
  ...CONTAINER_COLUMNS,
  ...POD_HARDWARE_COLUMNS,
  dataCenterIds: column('data_center_ids'),
  templateId: column('template_id'),
  isLocked: column('is_locked'),
  hasGlobalNetwork: column('has_global_network'),
  isPrivate: column('is_private'),
  startSsh: column('start_ssh'),
  startJupyter: column('start_jupyter'),
} satisfies ColumnMap<PodSettings>;
const COLUMNS = {
  id: { read: 'id' },
  userId: { read: 'user_id' },
  ...POD_SETTING_COLUMNS,
  stopAt: { read: 'stop_at' },
  terminateAt: { read: 'terminate_at' },
  createdAt: { read: 'created_at' },
  wanted: { read: 'wanted' },
  wantedReason: { read: 'wanted_reason' },
  revision: { read: 'revision' },
  phase: { read: 'phase' },
  phaseReason: { read: 'phase_reason' },
  phaseRevision: { read: 'phase_revision' },
  address: { read: 'address' },
  publishedPorts: { read: 'published_ports' },
  startedAt: { read: 'started_at' },
  changedAt: { read: 'changed_at' },
  cluster: {
    read: `case when cluster_id is not null then
      json_build_object('id', cluster_id, 'rank', cluster_rank, 'ip', coalesce(cluster_ip, address)) end`,
  },
  clusterPhase: { read: '(select c.phase from clusters c where c.id = cluster_id)' },
  clusterReason: { read: '(select c.phase_reason from clusters c where c.id = cluster_id)' },
} satisfies ColumnMap<PodRow>;
const SELECTED = selectList(COLUMNS);

function toPod({ clusterPhase, clusterReason, ...podRow }: PodRow): Pod {
  const { wanted, wantedReason, revision, phase, phaseRevision, phaseReason, ...row } = podRow;
  const phaseReasonNow = phaseRevision === revision ? phaseReason : null;
  const own = podStatus({ wanted, revision, phase, phaseRevision });
  // The pods of a waiting cluster are not wanted yet; those of a failed one, not any more.
  const isOfCluster = row.cluster !== null && wanted === 'STOP';
  const status = isOfCluster && clusterPhase === 'WAITING' ? 'PROVISIONING' : own;
  const isRunning = status === 'RUNNING';
  return {
    ...row,
    status,
    statusReason: isOfCluster ? clusterReason : wanted === 'RUN' ? phaseReasonNow : wantedReason,
    actions: row.cluster === null ? podActions(status, row.isLocked) : [],
    costPerHour: isHolding(own) ? podUsdPerHour(row) : 0,
    address: isRunning ? row.address : null,
    publishedPorts: isRunning ? row.publishedPorts : [],
  };
}

/** Returns what a pod requires of driver and machine, alone. */
function gpuRuleOf(gpu: PodGpu | null): Partial<PodGpu> {
  const { allowedCudaVersions, minCudaVersion, minRamPerGpu, minVcpuCountPerGpu } = gpu ?? {};
  return {
    ...(allowedCudaVersions?.length && { allowedCudaVersions }),
    ...(minCudaVersion && { minCudaVersion }),
    ...(minRamPerGpu && { minRamPerGpu }),
    ...(minVcpuCountPerGpu && { minVcpuCountPerGpu }),
  };
}

/** Returns the user's pods, oldest first, without terminated ones; `of`: whether those of clusters are listed. */
export async function listPodRows(
  db: Db,
  userId: UserId,
  of: 'own' | 'own-and-clusters' | 'clusters' = 'own',
): Promise<Pod[]> {
  const result = await db.query<PodRow>({
    name: 'pod-list',
    text: `select ${SELECTED} from pods where user_id = $1 and wanted <> 'TERMINATE' and case when cluster_id is null then $2::boolean else $3::boolean end
           order by created_at, cluster_rank, id`,
    values: [userId, of !== 'clusters', of !== 'own'],
  });
  return result.rows.map(toPod);
}

/** Returns the pods of a cluster by rank. */
export async function listClusterPodRows(db: Db, userId: UserId, clusterId: ClusterId): Promise<Pod[]> {
  const result = await db.query<PodRow>({
    name: 'pod-list-cluster',
    text: `select ${SELECTED} from pods where cluster_id = $2 and user_id = $1 and wanted <> 'TERMINATE'
           order by cluster_rank`,
    values: [userId, clusterId],
  });
  return result.rows.map(toPod);
}

/** Inserts the pods of a cluster, by rank. They are alike, and not wanted until the cluster has a place for all of them. */
export async function insertClusterPodRows(
  db: Db,
  pod: PodSettings & { userId: UserId },
  cluster: { id: ClusterId; podIds: readonly PodId[] },
): Promise<void> {
  const { name, ...settings } = insertedRow(POD_SETTING_COLUMNS, pod);
  const others = { user_id: pod.userId, wanted: 'STOP', cluster_id: cluster.id, ...settings };
  const names = Object.keys(others);
  await db.query(
    `insert into pods (id, cluster_rank, name, ${names.join(', ')})
     select m.id, m.n - 1, $2 || '-' || (m.n - 1), ${names.map((_, i) => `$${i + 3}`).join(', ')}
     from unnest($1::text[]) with ordinality as m(id, n)`,
    [cluster.podIds, name, ...Object.values(others)],
  );
}

/** Throws `notFound` if the user has no such pod, or terminated it. `for update` locks it against changes until the commit. */
export async function getPodRow(db: Db, userId: UserId, id: PodId, lock: RowLock = ''): Promise<Pod> {
  return toPod(
    foundRow(
      await db.query<PodRow>({
        name: lock === '' ? 'pod-get' : 'pod-lock',
        text: `select ${SELECTED} from pods where id = $1 and user_id = $2 and wanted <> 'TERMINATE' ${lock}`,
        values: [id, userId],
      }),
      'Pod',
    ),
  );
}

/** `pool`: the GPU pool it was placed on. Returns the pod with `createdAt`, which the database sets. */
export async function insertPodRow(
  db: Db,
  pod: PodSettings & Partial<PodLifetime> & { id: PodId; userId: UserId; pool: string | null },
): Promise<Pod> {
  const { stopAt = null, terminateAt = null } = pod;
  const lifetime = { stop_at: stopAt, terminate_at: terminateAt };
  const row = {
    id: pod.id,
    user_id: pod.userId,
    gpu_pool: pod.pool,
    ...lifetime,
    ...insertedRow(POD_SETTING_COLUMNS, pod),
  };
  const result = await db.query<PodRow>(
    `insert into pods ${insertValues(row)} returning ${SELECTED}`,
    Object.values(row),
  );
  return toPod(result.rows[0]!);
}

/** With `isNewContainer`, a new container with these settings replaces the running one. */
export async function updatePodRow(db: Db, pod: Pod, isNewContainer: boolean): Promise<Pod> {
  const row = updatedRow(POD_SETTING_COLUMNS, pod);
  const result = await db.query<PodRow>(
    `update pods set ${assignments(row, 3)}${isNewContainer ? ', revision = revision + 1, changed_at = now()' : ''}
     where id = $1 and user_id = $2 returning ${SELECTED}`,
    [pod.id, pod.userId, ...Object.values(row)],
  );
  return toPod(result.rows[0]!);
}

export async function updatePodAccess(db: Db, pod: Pick<Pod, 'id' | 'userId' | 'isPrivate'>): Promise<Pod> {
  const result = await db.query<PodRow>(
    `update pods set is_private = $3 where id = $1 and user_id = $2 returning ${SELECTED}`,
    [pod.id, pod.userId, pod.isPrivate],
  );
  return toPod(result.rows[0]!);
}

/** A stopped pod that is started after the time of its stop runs on. */
const DROP_PAST_STOP = 'stop_at = case when stop_at > now() then stop_at end';

/** Requests that the pod runs, in a new container; with `place`, on the GPUs of that place. */
export async function wantPodRunning(
  db: Db,
  pod: Pod,
  place?: { pool: string | null; cudaVersion: string | null },
): Promise<Pod> {
  const result = await db.query<PodRow>(
    `update pods set wanted = 'RUN', wanted_reason = null, revision = revision + 1, changed_at = now()
       ${place === undefined ? '' : `, gpu_pool = $3, cuda_version = $4, ${DROP_PAST_STOP}`}
     where id = $1 and user_id = $2 returning ${SELECTED}`,
    place === undefined ? [pod.id, pod.userId] : [pod.id, pod.userId, place.pool, place.cudaVersion],
  );
  return toPod(result.rows[0]!);
}

export async function updatePodLifetime(db: Db, pod: Pick<Pod, 'id' | 'userId' | keyof PodLifetime>): Promise<Pod> {
  const result = await db.query<PodRow>(
    `update pods set stop_at = $3, terminate_at = $4 where id = $1 and user_id = $2 returning ${SELECTED}`,
    [pod.id, pod.userId, pod.stopAt, pod.terminateAt],
  );
  return toPod(result.rows[0]!);
}

/** Requests that the container ends; with TERMINATE, that the pod is removed. */
export async function wantPodEnded(db: Db, pod: Pod, wanted: 'STOP' | 'TERMINATE'): Promise<Pod> {
  const result = await db.query<PodRow>(
    `update pods set wanted = $3, wanted_reason = null, changed_at = now() where id = $1 and user_id = $2 returning ${SELECTED}`,
    [pod.id, pod.userId, wanted],
  );
  return toPod(result.rows[0]!);
}
