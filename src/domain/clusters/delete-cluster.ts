import type { ClusterId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { updateTemplateUse } from '../templates/template-store.ts';
import { getClusterRow, wantClusterDeleted } from './cluster-store.ts';

/**
 * Deletes a cluster and terminates all its pods. Control removes their containers and storage, then the network: after a crash
 * in between, it continues. Throws `notFound`, also from now on.
 */
export async function deleteCluster(context: Context, actor: Actor, id: ClusterId): Promise<void> {
  await transaction(context.pool, async (db) => {
    const { templateId } = await getClusterRow(db, actor.userId, id, 'for update');
    if (templateId !== null) await updateTemplateUse(db, templateId);
    await wantClusterDeleted(db, id);
  });
  context.bus.publish('cluster', id);
  context.bus.publish('pod', id);
}
