import { Failure } from '../../core/errors.ts';
import type { ClusterId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { checkPodContainer } from '../pods/check-pod.ts';
import { listClusterPodRows } from '../pods/pod-store.ts';
import { updateTemplateUse } from '../templates/template-store.ts';
import type { ClusterWithPods } from './cluster.ts';
import { getCluster, getClusterRow, updateClusterName, wantClusterDeleted } from './cluster-store.ts';

/** Renames a cluster; nothing else of it can change. Its pods keep their names. Throws `notFound`. */
export const updateCluster: Operation<Tx, { id: ClusterId; change: { name?: string } }, ClusterWithPods> = {
  name: 'cluster.update',
  permission: PERMISSIONS.writePod,
  async run({ db, actor, bus }, { id, change: { name } }) {
    await getClusterRow(db, actor.userId, id, 'for update');
    if (name !== undefined) {
      await updateClusterName(db, id, name);
      bus.publish('cluster', id);
    }
    return getCluster(db, actor.userId, id);
  },
  subject: ({ id }) => id,
};

/**
 * Changes the credentials with which all pods of a cluster pull their image; pods that were started pull it again. Unchanged
 * ones do nothing. Throws `notFound`, `conflict` for a failed cluster, `badRequest` if there are no such credentials, and
 * `forbidden` if the key may not use them.
 */
export const changeClusterRegistry: Operation<Tx, { id: ClusterId; registryId: string | null }, void> = {
  name: 'cluster.change-registry',
  permission: PERMISSIONS.writePod,
  async run({ db, actor, bus }, { id, registryId }) {
    const { phase } = await getClusterRow(db, actor.userId, id, 'for update');
    if (phase === 'FAILED') throw new Failure('conflict', 'The cluster has failed: delete it and create another one.');
    const [first] = await listClusterPodRows(db, actor.userId, id);
    await checkPodContainer(db, actor, first ?? null, { registryId });
    await db.query(
      `update pods set registry_id = $2, revision = revision + (wanted = 'RUN')::int, changed_at = now()
       where cluster_id = $1 and registry_id is distinct from $2`,
      [id, registryId],
    );
    bus.publish('cluster', id);
    bus.publish('pod', id);
  },
  subject: ({ id }) => id,
};

/**
 * Deletes a cluster and terminates all its pods. Control removes their containers and storage, then the network: after a crash
 * in between, it continues. Throws `notFound`, also from now on.
 */
export const deleteCluster: Operation<Tx, { id: ClusterId }, void> = {
  name: 'cluster.delete',
  permission: PERMISSIONS.deletePod,
  async run({ db, actor, bus }, { id }) {
    const { templateId } = await getClusterRow(db, actor.userId, id, 'for update');
    if (templateId !== null) await updateTemplateUse(db, templateId);
    await wantClusterDeleted(db, id);
    bus.publish('cluster', id);
    bus.publish('pod', id);
  },
  subject: ({ id }) => id,
};
