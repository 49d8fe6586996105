import type { PodId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import type { Pod } from './pod.ts';
import type { PodLifetime } from './pod-lifetime.ts';
import { getPodRow, updatePodAccess, updatePodLifetime } from './pod-store.ts';
import { refuseClusterPod } from './refuse-cluster-pod.ts';

/**
 * Makes the HTTP ports of a pod private or public. Its container stays; when a pod becomes private, the proxy closes the connections of
 * clients without access. Throws `notFound`.
 */
export const setPodAccess: Operation<Tx, { id: PodId; isPrivate: boolean }, Pod> = {
  name: 'pod.set-access',
  permission: PERMISSIONS.writePod,
  async run({ db, actor, bus }, { id, isPrivate }) {
    const before = await getPodRow(db, actor.userId, id, 'for update');
    bus.publish('pod', id);
    return before.isPrivate === isPrivate ? before : updatePodAccess(db, { ...before, isPrivate });
  },
  subject: ({ id }) => id,
};

/** Sets when a pod is stopped and terminated. Its container stays. Throws `notFound`, and `conflict` for a cluster's pod. */
export const setPodLifetime: Operation<Tx, { id: PodId; lifetime: PodLifetime }, Pod> = {
  name: 'pod.set-lifetime',
  permission: PERMISSIONS.writePod,
  async run({ db, actor, bus }, { id, lifetime }) {
    const before = await getPodRow(db, actor.userId, id, 'for update');
    refuseClusterPod(before);
    bus.publish('pod', id);
    return updatePodLifetime(db, { ...before, ...lifetime });
  },
  subject: ({ id }) => id,
};
