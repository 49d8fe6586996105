import { Failure } from '../../core/errors.ts';
import type { PodId, WorkerId } from '../../core/ids.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { deletePodKey } from '../access/workload-keys.ts';
import type { Context } from '../context.ts';
import { updateTemplateUse } from '../templates/template-store.ts';
import type { PodContext } from './create-pod.ts';
import { placePod } from './place-pod.ts';
import type { Pod, PodAction } from './pod.ts';
import { getPodRow, wantPodEnded, wantPodRunning } from './pod-store.ts';
import { refuseClusterPod } from './refuse-cluster-pod.ts';

/**
 * Starts a stopped or failed pod, in its own data center. Throws `notFound`, `conflict` if its status does not allow it,
 * `badRequest` without capacity.
 */
export async function startPod(context: PodContext, actor: Actor, id: PodId): Promise<Pod> {
  const stock = await context.capacity.read();
  let leaving: readonly WorkerId[] = [];
  const started = await change(context, actor, id, 'start', async (db, pod) => {
    const { place, evicted } = await placePod(
      db,
      { ...pod, userId: actor.userId, dataCenterIds: [pod.dataCenterId] },
      stock,
    );
    leaving = evicted;
    return wantPodRunning(db, pod, place);
  });
  for (const workerId of leaving) context.bus.publish('worker', workerId);
  return started;
}

/** Stops the container and keeps the mounts. Throws `notFound`, and `conflict` if its status or lock does not allow it. */
export function stopPod(context: Context, actor: Actor, id: PodId): Promise<Pod> {
  return change(context, actor, id, 'stop', (db, pod) => wantPodEnded(db, pod, 'STOP'));
}

/** Replaces the running container by a new one. Throws `notFound`, and `conflict` as `stopPod` does. */
export function restartPod(context: Context, actor: Actor, id: PodId): Promise<Pod> {
  return change(context, actor, id, 'restart', (db, pod) => wantPodRunning(db, pod));
}

/** Removes the pod and its own storage; a network volume is detached. Throws `notFound`, also from now on. */
export async function terminatePod(context: Context, actor: Actor, id: PodId): Promise<void> {
  await change(context, actor, id, 'terminate', async (db, pod) => {
    if (pod.templateId !== null) await updateTemplateUse(db, pod.templateId);
    await deletePodKey(db, id);
    return wantPodEnded(db, pod, 'TERMINATE');
  });
  context.bus.publish('key', id);
}

/** Runs an action by name; returns null for `terminate`. */
export async function actOnPod(context: PodContext, actor: Actor, id: PodId, action: PodAction): Promise<Pod | null> {
  if (action === 'start') return startPod(context, actor, id);
  if (action === 'stop') return stopPod(context, actor, id);
  if (action === 'restart') return restartPod(context, actor, id);
  await terminatePod(context, actor, id);
  return null;
}

async function change(
  context: Context,
  actor: Actor,
  id: PodId,
  action: PodAction,
  work: (db: Db, pod: Pod) => Promise<Pod>,
): Promise<Pod> {
  const pod = await transaction(context.pool, async (db) => {
    const before = await getPodRow(db, actor.userId, id, 'for update');
    refuseClusterPod(before);
    if (!before.actions.includes(action)) throw notPossible(before, action);
    return work(db, before);
  });
  context.bus.publish('pod', id);
  return pod;
}

function notPossible({ status, isLocked, actions }: Pod, action: PodAction): Failure {
  const why = `the pod is ${status}${isLocked ? ' and locked' : ''}`;
  return new Failure('conflict', `${action} is not possible: ${why}; possible actions: ${actions.join(', ')}`);
}
