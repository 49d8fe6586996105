import { Failure } from '../../core/errors.ts';
import type { ClusterId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkPodContainer } from '../pods/check-pod.ts';
import { listClusterPodRows } from '../pods/pod-store.ts';
import { getClusterRow } from './cluster-store.ts';

/**
 * Changes the credentials with which all pods of a cluster pull their image; pods that were started pull it again. Unchanged
 * ones do nothing. Throws `notFound`, `conflict` for a failed cluster, `badRequest` if there are no such credentials, and
 * `forbidden` if the key may not use them.
 */
export async function changeClusterRegistry(
  context: Context,
  actor: Actor,
  id: ClusterId,
  registryId: string | null,
): Promise<void> {
  await transaction(context.pool, async (db) => {
    const { phase } = await getClusterRow(db, actor.userId, id, 'for update');
    if (phase === 'FAILED') throw new Failure('conflict', 'The cluster has failed: delete it and create another one.');
    const [first] = await listClusterPodRows(db, actor.userId, id);
    await checkPodContainer(db, actor, first ?? null, { registryId });
    await db.query(
      `update pods set registry_id = $2, revision = revision + (wanted = 'RUN')::int, changed_at = now()
       where cluster_id = $1 and registry_id is distinct from $2`,
      [id, registryId],
    );
  });
  context.bus.publish('cluster', id);
  context.bus.publish('pod', id);
}
