import { Failure } from '../../core/errors.ts';
import type { PodId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { deletePodKey } from '../access/workload-keys.ts';
import type { Stock } from '../catalog/capacity-source.ts';
import type { Operation, Tx } from '../change.ts';
import { updateTemplateUse } from '../templates/template-store.ts';
import type { PlacingTx } from './create-pod.ts';
import { placePod } from './place-pod.ts';
import type { Pod, PodAction } from './pod.ts';
import { getPodRow, wantPodEnded, wantPodRunning } from './pod-store.ts';
import { refuseClusterPod } from './refuse-cluster-pod.ts';

/**
 * Starts a stopped or failed pod, in its own data center. Throws `notFound`, `conflict` if its status does not allow it,
 * `badRequest` without capacity.
 */
export const startPod: Operation<PlacingTx, { id: PodId }, Pod, Stock> = {
  name: 'pod.start',
  permission: PERMISSIONS.writePod,
  prepare: ({ capacity }) => capacity.read(),
  async run(tx, { id }, stock) {
    const pod = await lockPod(tx, id, 'start');
    const wanted = { ...pod, userId: tx.actor.userId, dataCenterIds: [pod.dataCenterId] };
    const { place, evicted } = await placePod(tx.db, wanted, stock);
    for (const workerId of evicted) tx.bus.publish('worker', workerId);
    return wantPodRunning(tx.db, pod, place);
  },
  subject: ({ id }) => id,
};

/** Stops the container and keeps the mounts. Throws `notFound`, and `conflict` if its status or lock does not allow it. */
export const stopPod: Operation<Tx, { id: PodId }, Pod> = {
  name: 'pod.stop',
  permission: PERMISSIONS.writePod,
  run: async (tx, { id }) => wantPodEnded(tx.db, await lockPod(tx, id, 'stop'), 'STOP'),
  subject: ({ id }) => id,
};

/** Replaces the running container by a new one. Throws `notFound`, and `conflict` as `stopPod` does. */
const restartPod: Operation<Tx, { id: PodId }, Pod> = {
  name: 'pod.restart',
  permission: PERMISSIONS.writePod,
  run: async (tx, { id }) => wantPodRunning(tx.db, await lockPod(tx, id, 'restart')),
  subject: ({ id }) => id,
};

/** Removes the pod and its own storage; a network volume is detached. Throws `notFound`, also from now on. */
export const terminatePod: Operation<Tx, { id: PodId }, Pod> = {
  name: 'pod.terminate',
  permission: PERMISSIONS.deletePod,
  async run(tx, { id }) {
    const pod = await lockPod(tx, id, 'terminate');
    if (pod.templateId !== null) await updateTemplateUse(tx.db, pod.templateId);
    await deletePodKey(tx.db, id);
    tx.bus.publish('key', id);
    return wantPodEnded(tx.db, pod, 'TERMINATE');
  },
  subject: ({ id }) => id,
};

/** The operations that change what a pod does, by name. */
export const POD_ACTIONS: Record<PodAction, Operation<PlacingTx, { id: PodId }, Pod, Stock>> = {
  start: startPod,
  stop: stopPod,
  restart: restartPod,
  terminate: terminatePod,
};

async function lockPod({ db, actor, bus }: Tx, id: PodId, action: PodAction): Promise<Pod> {
  const pod = await getPodRow(db, actor.userId, id, 'for update');
  refuseClusterPod(pod);
  if (!pod.actions.includes(action)) throw notPossible(pod, action);
  bus.publish('pod', id);
  return pod;
}

function notPossible({ status, isLocked, actions }: Pod, action: PodAction): Failure {
  const why = `the pod is ${status}${isLocked ? ' and locked' : ''}`;
  return new Failure('conflict', `${action} is not possible: ${why}; possible actions: ${actions.join(', ')}`);
}
