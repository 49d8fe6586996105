import type { ClusterId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import type { ClusterWithPods } from './cluster.ts';
import { getCluster, getClusterRow, updateClusterName } from './cluster-store.ts';

/** Renames a cluster; nothing else of it can change. Its pods keep their names. Throws `notFound`. */
export async function updateCluster(
  context: Context,
  actor: Actor,
  id: ClusterId,
  change: { name?: string },
): Promise<ClusterWithPods> {
  const { name } = change;
  const cluster = await transaction(context.pool, async (db) => {
    await getClusterRow(db, actor.userId, id, 'for update');
    if (name !== undefined) await updateClusterName(db, id, name);
    return getCluster(db, actor.userId, id);
  });
  if (name !== undefined) context.bus.publish('cluster', id);
  return cluster;
}
