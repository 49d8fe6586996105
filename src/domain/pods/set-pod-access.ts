import type { PodId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import type { Pod } from './pod.ts';
import { getPodRow, updatePodAccess } from './pod-store.ts';

/**
 * Makes the HTTP ports of a pod private or public. Its container stays; the proxy closes the connections of strangers to a pod
 * that becomes private. Throws `notFound`.
 */
export async function setPodAccess(context: Context, actor: Actor, id: PodId, isPrivate: boolean): Promise<Pod> {
  const pod = await transaction(context.pool, async (db) => {
    const before = await getPodRow(db, actor.userId, id, 'for update');
    return before.isPrivate === isPrivate ? before : updatePodAccess(db, { ...before, isPrivate });
  });
  context.bus.publish('pod', id);
  return pod;
}
