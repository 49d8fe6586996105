import { notFound } from '../../core/errors.ts';
import type { PodId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { podUsdPerHour } from '../billing/price-list.ts';
import { type ContainerRow, containerColumns, toContainer } from '../endpoints/container-columns.ts';
import type { CpuConfig } from '../endpoints/endpoint.ts';
import {
  type Cloud,
  isHolding,
  type Pod,
  type PodPhase,
  type PodPort,
  type PodWanted,
  podActions,
  podStatus,
} from './pod.ts';

export interface PodRow extends ContainerRow {
  id: PodId;
  user_id: UserId;
  name: string;
  gpu_type_id: string | null;
  gpu_count: number | null;
  cpu: CpuConfig | null;
  cloud: Cloud;
  data_center_ids: string[];
  persistent_size_gb: number | null;
  persistent_path: string | null;
  network_volume_id: string | null;
  network_volume_path: string | null;
  template_id: string | null;
  is_locked: boolean;
  has_global_network: boolean;
  created_at: Date;
  wanted: PodWanted;
  revision: number;
  data_center_id: string;
  phase: PodPhase;
  phase_reason: string | null;
  phase_revision: number;
  address: string | null;
  published_ports: PodPort[];
  started_at: Date | null;
  changed_at: Date;
}

/** Spelled out: a prepared `select *` fails once a newer process has added a column. */
const COLUMNS = `id, user_id, name, image, args, disk_gb, ports, env, registry_id, gpu_type_id, gpu_count, cpu, cloud,
  data_center_ids, persistent_size_gb, persistent_path, network_volume_id, network_volume_path, template_id, is_locked,
  has_global_network, created_at, wanted, revision, data_center_id, phase, phase_reason, phase_revision, address,
  published_ports, started_at, changed_at`;

function toPod(row: PodRow): Pod {
  const { wanted, revision, phase, phase_revision: phaseRevision } = row;
  const status = podStatus({ wanted, revision, phase, phaseRevision });
  const gpu = row.gpu_type_id === null ? null : { id: row.gpu_type_id, count: row.gpu_count! };
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    ...toContainer(row),
    gpu,
    cpu: row.cpu,
    mounts: {
      persistent: row.persistent_path === null ? null : { sizeGb: row.persistent_size_gb!, path: row.persistent_path },
      network:
        row.network_volume_path === null ? null : { volumeId: row.network_volume_id!, path: row.network_volume_path },
    },
    cloud: row.cloud,
    dataCenterIds: row.data_center_ids,
    dataCenterId: row.data_center_id,
    templateId: row.template_id,
    isLocked: row.is_locked,
    hasGlobalNetwork: row.has_global_network,
    status,
    statusReason: phaseRevision === revision && wanted === 'RUN' ? row.phase_reason : null,
    actions: podActions(status, row.is_locked),
    costPerHour: isHolding(status) ? podUsdPerHour({ gpu, cpu: row.cpu, cloud: row.cloud }) : 0,
    address: status === 'RUNNING' ? row.address : null,
    publishedPorts: status === 'RUNNING' ? row.published_ports : [],
    createdAt: row.created_at,
    startedAt: row.started_at,
    changedAt: row.changed_at,
  };
}

/** Everything that a create or an update writes. */
type PodSettings = Omit<
  Pod,
  | 'id'
  | 'userId'
  | 'status'
  | 'statusReason'
  | 'actions'
  | 'costPerHour'
  | 'address'
  | 'publishedPorts'
  | 'createdAt'
  | 'startedAt'
  | 'changedAt'
>;

function toColumns(pod: PodSettings): Record<string, unknown> {
  return {
    name: pod.name,
    ...containerColumns(pod),
    gpu_type_id: pod.gpu?.id ?? null,
    gpu_count: pod.gpu?.count ?? null,
    cpu: pod.cpu === null ? null : JSON.stringify(pod.cpu),
    cloud: pod.cloud,
    data_center_ids: pod.dataCenterIds,
    persistent_size_gb: pod.mounts.persistent?.sizeGb ?? null,
    persistent_path: pod.mounts.persistent?.path ?? null,
    network_volume_id: pod.mounts.network?.volumeId ?? null,
    network_volume_path: pod.mounts.network?.path ?? null,
    template_id: pod.templateId,
    is_locked: pod.isLocked,
    has_global_network: pod.hasGlobalNetwork,
    data_center_id: pod.dataCenterId,
  };
}

/** The user's own, oldest first; a terminated pod is gone. */
export async function listPodRows(db: Db, userId: UserId): Promise<Pod[]> {
  const result = await db.query<PodRow>({
    name: 'pod-list',
    text: `select ${COLUMNS} from pods where user_id = $1 and wanted <> 'TERMINATE' order by created_at, id`,
    values: [userId],
  });
  return result.rows.map(toPod);
}

/** Throws `notFound` when it is missing, terminated, or somebody else's. `for update` keeps others from changing it until commit. */
export async function getPodRow(db: Db, userId: UserId, id: PodId, lock: '' | 'for update' = ''): Promise<Pod> {
  const result = await db.query<PodRow>({
    name: lock === '' ? 'pod-get' : 'pod-lock',
    text: `select ${COLUMNS} from pods where id = $1 and user_id = $2 and wanted <> 'TERMINATE' ${lock}`,
    values: [id, userId],
  });
  if (!result.rows[0]) throw notFound('Pod');
  return toPod(result.rows[0]);
}

/** `pool` is the GPU pool it was placed on. `createdAt` is the database's; the answer carries it. */
export async function insertPodRow(
  db: Db,
  pod: PodSettings & { id: PodId; userId: UserId; pool: string | null },
): Promise<Pod> {
  const values = { id: pod.id, user_id: pod.userId, gpu_pool: pod.pool, ...toColumns(pod) };
  const names = Object.keys(values);
  const result = await db.query<PodRow>(
    `insert into pods (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})
     returning ${COLUMNS}`,
    Object.values(values),
  );
  return toPod(result.rows[0]!);
}

/** With `isNewContainer` what runs is replaced by a container of these settings. */
export async function updatePodRow(db: Db, pod: Pod, isNewContainer: boolean): Promise<Pod> {
  const values = toColumns(pod);
  const assignments = Object.keys(values).map((name, i) => `${name} = $${i + 3}`);
  const result = await db.query<PodRow>(
    `update pods set ${assignments.join(', ')}${isNewContainer ? ', revision = revision + 1, changed_at = now()' : ''}
     where id = $1 and user_id = $2 returning ${COLUMNS}`,
    [pod.id, pod.userId, ...Object.values(values)],
  );
  return toPod(result.rows[0]!);
}

/** Wants it to run in a container of its own from now on; with `pool`, on that GPU pool. */
export async function wantPodRunning(db: Db, pod: Pod, pool?: string | null): Promise<Pod> {
  const result = await db.query<PodRow>(
    `update pods set wanted = 'RUN', revision = revision + 1, changed_at = now()
       ${pool === undefined ? '' : ', gpu_pool = $3'}
     where id = $1 and user_id = $2 returning ${COLUMNS}`,
    pool === undefined ? [pod.id, pod.userId] : [pod.id, pod.userId, pool],
  );
  return toPod(result.rows[0]!);
}

/** Wants its container gone; with TERMINATE, all of it. */
export async function wantPodEnded(db: Db, pod: Pod, wanted: 'STOP' | 'TERMINATE'): Promise<Pod> {
  const result = await db.query<PodRow>(
    `update pods set wanted = $3, changed_at = now() where id = $1 and user_id = $2 returning ${COLUMNS}`,
    [pod.id, pod.userId, wanted],
  );
  return toPod(result.rows[0]!);
}
