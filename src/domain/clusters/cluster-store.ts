import { notFound } from '../../core/errors.ts';
import type { ClusterId, UserId } from '../../core/ids.ts';
import { type Db, foundRow, type RowLock } from '../../db/pool.ts';
import type { Pod, PodStatus } from '../pods/pod.ts';
import { directSsh } from '../pods/pod-ssh.ts';
import { listClusterPodRows, listPodRows } from '../pods/pod-store.ts';
import type { Cluster, ClusterWithPods } from './cluster.ts';

/** The columns of a Cluster. */
const COLUMNS = `id, user_id as "userId", name, type, gpu_type_id as "gpuTypeId", gpus_per_pod as "gpusPerPod",
  pod_count as "podCount", cloud, data_center_ids as "dataCenterIds", template_id as "templateId",
  created_at as "createdAt", phase, phase_reason as "phaseReason", data_center_id as "dataCenterId", cidr`;

/** Returns the user's clusters, oldest first, without deleted ones. */
export async function listClusters(db: Db, userId: UserId): Promise<ClusterWithPods[]> {
  const { rows } = await db.query<Cluster>({
    name: 'cluster-list',
    text: `select ${COLUMNS} from clusters where user_id = $1 and wanted <> 'DELETE' order by created_at, id`,
    values: [userId],
  });
  if (rows.length === 0) return [];
  const pods = await listPodRows(db, userId, 'clusters');
  const byCluster = Map.groupBy(pods, ({ cluster }) => cluster?.id);
  // Deleted since the first statement: without pods.
  return rows.flatMap((row) => withPods(row, byCluster.get(row.id) ?? []) ?? []);
}

/** Throws `notFound` if the user has no such cluster, or deleted it. */
export async function getCluster(db: Db, userId: UserId, id: ClusterId): Promise<ClusterWithPods> {
  const row = await getClusterRow(db, userId, id);
  const found = withPods(row, await listClusterPodRows(db, userId, id));
  if (!found) throw notFound('Cluster');
  return found;
}

/** Throws `notFound` as `getCluster` does. `for update` locks it against changes until the commit. */
export async function getClusterRow(db: Db, userId: UserId, id: ClusterId, lock: RowLock = ''): Promise<Cluster> {
  return foundRow(
    await db.query<Cluster>({
      name: lock === '' ? 'cluster-get' : 'cluster-lock',
      text: `select ${COLUMNS} from clusters where id = $1 and user_id = $2 and wanted <> 'DELETE' ${lock}`,
      values: [id, userId],
    }),
    'Cluster',
  );
}

/** The columns that a create writes. */
export type NewClusterRow = Omit<Cluster, 'createdAt' | 'phase' | 'phaseReason' | 'dataCenterId' | 'cidr'>;

export async function insertClusterRow(db: Db, cluster: NewClusterRow): Promise<void> {
  await db.query(
    `insert into clusters (id, user_id, name, type, gpu_type_id, gpus_per_pod, pod_count, cloud, data_center_ids,
       template_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      cluster.id,
      cluster.userId,
      cluster.name,
      cluster.type,
      cluster.gpuTypeId,
      cluster.gpusPerPod,
      cluster.podCount,
      cluster.cloud,
      cluster.dataCenterIds,
      cluster.templateId,
    ],
  );
}

export async function updateClusterName(db: Db, id: ClusterId, name: string): Promise<void> {
  await db.query('update clusters set name = $2 where id = $1', [id, name]);
}

/** Requests that the cluster ends: all its pods are terminated, in the same statement. */
export async function wantClusterDeleted(db: Db, id: ClusterId): Promise<void> {
  await db.query(
    `with members as (update pods set wanted = 'TERMINATE', changed_at = now() where cluster_id = $1)
     update clusters set wanted = 'DELETE' where id = $1`,
    [id],
  );
}

function withPods(cluster: Cluster, pods: readonly Pod[]): ClusterWithPods | undefined {
  const [first] = pods;
  if (!first) return undefined;
  const podsByStatus: Partial<Record<PodStatus, number>> = {};
  for (const { status } of pods) podsByStatus[status] = (podsByStatus[status] ?? 0) + 1;
  const ssh = directSsh(first);
  const sshEndpoint = ssh && `${ssh.host}:${ssh.port}`;
  return { ...cluster, podsByStatus, primary: { podId: first.id, status: first.status, sshEndpoint } };
}
