import { Failure, messageOf } from '../../core/errors.ts';
import type { ClusterId, PodId, WorkerId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import type { Stock } from '../catalog/capacity-source.ts';
import { type PodPlace, placePod } from '../pods/place-pod.ts';
import type { PodGpu } from '../pods/pod.ts';
import { placeReason } from '../pods/pod-lifecycle.ts';
import type { Cluster } from './cluster.ts';

/**
 * The outcome of a try to place a cluster. `podIds`: the pods to start; `ports`: those of each pod; `evicted`: frozen workers
 * to stop.
 */
export type Placing =
  | {
      isPlaced: true;
      dataCenterId: string;
      podIds: readonly PodId[];
      ports: readonly string[];
      evicted: readonly WorkerId[];
    }
  | { isPlaced: false; isNewReason: boolean };

type Waiting = Pick<Cluster, 'userId' | 'name' | 'podCount' | 'cloud' | 'dataCenterIds' | 'phaseReason'> & {
  /** The GPUs of each pod. */
  gpu: PodGpu;
};

/**
 * Claims the GPUs of all pods of a waiting cluster, in one transaction under the lock for GPU allocation, or none and stores why. Publish
 * the evicted workers and the pods after it.
 */
export function placeCluster(pool: Pool, id: ClusterId, stock: Stock): Promise<Placing> {
  return transaction(pool, async (db) => {
    const { rows } = await db.query<Waiting>(
      `select user_id as "userId", name, pod_count as "podCount", cloud, data_center_ids as "dataCenterIds",
         phase_reason as "phaseReason", jsonb_build_object('id', gpu_type_id, 'count', gpus_per_pod)
           || (select gpu_rule from pods where cluster_id = $1 and cluster_rank = 0) as gpu
       from clusters where id = $1 and phase = 'WAITING' and wanted = 'RUN' for update`,
      [id],
    );
    const cluster = rows[0];
    if (!cluster) return { isPlaced: false, isNewReason: false };
    const found = await findPlace(db, cluster, stock);
    if ('reason' in found) return keepWaiting(db, id, cluster, found.reason);
    const pods = await claim(db, id, found.place);
    return {
      isPlaced: true,
      dataCenterId: found.place.dataCenterId,
      podIds: pods.map((pod) => pod.id),
      ports: pods[0]?.ports ?? [],
      evicted: found.evicted,
    };
  });
}

async function findPlace(
  db: Db,
  cluster: Waiting,
  stock: Stock,
): Promise<{ place: PodPlace; evicted: readonly WorkerId[] } | { reason: string }> {
  try {
    return await placePod(db, { ...cluster, cpu: null }, stock);
  } catch (error) {
    if (!(error instanceof Failure)) throw error; // a refusal is an answer, everything else is not
    return { reason: placeReason(messageOf(error)) };
  }
}

async function keepWaiting(db: Db, id: ClusterId, { phaseReason }: Waiting, reason: string): Promise<Placing> {
  if (reason === phaseReason) return { isPlaced: false, isNewReason: false };
  await db.query("update clusters set phase_reason = $2 where id = $1 and phase = 'WAITING'", [id, reason]);
  return { isPlaced: false, isNewReason: true };
}

async function claim(db: Db, id: ClusterId, { pool, dataCenterId, cudaVersion }: PodPlace) {
  const { rows } = await db.query<{ id: PodId; ports: string[] }>(
    `with cluster as (
       update clusters set phase = 'STARTING', phase_reason = null, data_center_id = $3 where id = $1
     )
     update pods set wanted = 'RUN', revision = revision + 1, gpu_pool = $2, data_center_id = $3, cuda_version = $4,
       changed_at = now()
     where cluster_id = $1 and wanted = 'STOP' returning id, ports`,
    [id, pool, dataCenterId, cudaVersion],
  );
  return rows;
}
