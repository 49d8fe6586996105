import type { PodId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import type { Pod } from './pod.ts';
import type { PodLifetime } from './pod-lifetime.ts';
import { getPodRow, updatePodLifetime } from './pod-store.ts';
import { refuseClusterPod } from './refuse-cluster-pod.ts';

/** Sets when a pod is stopped and terminated. Its container stays. Throws `notFound`, and `conflict` for a cluster's pod. */
export async function setPodLifetime(context: Context, actor: Actor, id: PodId, lifetime: PodLifetime): Promise<Pod> {
  const pod = await transaction(context.pool, async (db) => {
    const before = await getPodRow(db, actor.userId, id, 'for update');
    refuseClusterPod(before);
    return updatePodLifetime(db, { ...before, ...lifetime });
  });
  context.bus.publish('pod', id);
  return pod;
}
