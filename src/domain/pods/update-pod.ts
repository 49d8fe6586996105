import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../core/errors.ts';
import type { PodId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';
import { checkMountPath } from '../volumes/check-mount-path.ts';
import { checkPodContainer } from './check-pod.ts';
import { isHolding, type NetworkMount, type Pod, type PodMounts } from './pod.ts';
import { getPodRow, updatePodRow } from './pod-store.ts';

/** What may change. An absent field stays. */
export interface PodChange extends Partial<ContainerConfig & Pick<Pod, 'name' | 'isLocked' | 'hasGlobalNetwork'>> {
  /** An absent kind stays; `network` null stands for a list without the mount, which is refused. */
  mounts?: { persistent?: NonNullable<PodMounts['persistent']>; network?: NetworkMount | null };
}

const CONTAINER_FIELDS = ['image', 'args', 'diskGb', 'ports', 'env', 'registryId'] as const;

/**
 * Applies a partial update. Other container settings, or another path of a mount, replace the container of a pod that
 * runs or is to run, at once and keeping mounts; a stopped pod has them when it is started. A change to the values that
 * are there already replaces nothing. Throws `notFound`, and `badRequest` for a broken rule.
 */
export async function updatePod(context: Context, actor: Actor, id: PodId, change: PodChange): Promise<Pod> {
  const pod = await transaction(context.pool, async (db) => {
    const before = await getPodRow(db, actor.userId, id, 'for update');
    if (Object.keys(change).length === 0) return before;
    const { mounts: mountChange, ...fields } = change;
    const after = { ...before, ...fields, mounts: changeMounts(before.mounts, mountChange ?? {}) };
    await checkPodContainer(db, actor.userId, fields);
    return updatePodRow(db, after, isHolding(before.status) && !hasSameContainer(before, after));
  });
  context.bus.publish('pod', id);
  return pod;
}

/**
 * docs/interface/rest.md, "Pod mounts", `mounts` of a PATCH: kinds and volumes are fixed; paths may change, and storage
 * may grow.
 */
function changeMounts(before: PodMounts, { persistent, network }: NonNullable<PodChange['mounts']>): PodMounts {
  if (persistent && !before.persistent) refuse('persistent: the pod was made without one');
  if (persistent && persistent.sizeGb < before.persistent!.sizeGb) {
    refuse(`persistent.size: it only grows; it has ${before.persistent!.sizeGb} GB`);
  }
  if (network !== undefined && !before.network) refuse('network: the pod was made without one');
  if (network === null) refuse('network: the volume stays attached for as long as the pod is there');
  if (network && network.volumeId !== before.network!.volumeId) {
    refuse(`network: another volume cannot take the place of '${before.network!.volumeId}'`);
  }
  for (const mount of [persistent, network]) if (mount) checkMountPath(mount.path);
  return { persistent: persistent ?? before.persistent, network: network ?? before.network };
}

function refuse(why: string): never {
  throw new Failure('badRequest', `mounts.${why}`);
}

function hasSameContainer(before: Pod, after: Pod): boolean {
  return (
    CONTAINER_FIELDS.every((field) => isDeepStrictEqual(before[field], after[field])) &&
    before.mounts.persistent?.path === after.mounts.persistent?.path &&
    before.mounts.network?.path === after.mounts.network?.path
  );
}
