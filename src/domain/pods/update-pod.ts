import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../core/errors.ts';
import type { PodId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { mergeContainer } from '../containers/merge-container.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';
import { updateTemplateUse } from '../templates/template-store.ts';
import { checkMountPath } from '../volumes/check-mount-path.ts';
import { checkPodContainer } from './check-pod.ts';
import { usePodTemplate } from './create-pod.ts';
import { isHolding, type NetworkMount, type Pod, type PodMounts } from './pod.ts';
import { getPodRow, updatePodRow } from './pod-store.ts';
import { refuseClusterPod } from './refuse-cluster-pod.ts';

/** A partial update. Absent fields stay. */
export interface PodChange extends Partial<ContainerConfig & Pick<Pod, 'name' | 'isLocked' | 'hasGlobalNetwork'>> {
  /** An absent kind stays; `network` null means a list without the mount, which is refused. */
  mounts?: { persistent?: NonNullable<PodMounts['persistent']>; network?: NetworkMount | null };
  /** A template whose container settings replace the pod's, `env` included; those given win, `env` name by name. */
  templateId?: string;
}

/** A change, or a function that returns it for the pod as it is. */
export type PodUpdate = PodChange | ((before: Pod) => PodChange);

const CONTAINER_FIELDS = ['image', 'args', 'diskGb', 'ports', 'env', 'registryId'] as const;

/**
 * Applies a partial update. A template gives its container settings once, not its mounts. Changed container settings or
 * mount paths replace the container of a running pod at once, with its mounts; a stopped pod uses them at its next start.
 * Unchanged values replace nothing. Throws `notFound`, `conflict` for a cluster's pod, `badRequest` if a rule is broken, and
 * `forbidden` for a reference the key may not add.
 */
export const updatePod: Operation<Tx, { id: PodId; update: PodUpdate }, Pod> = {
  name: 'pod.update',
  permission: PERMISSIONS.writePod,
  async run({ db, actor, bus }, { id, update }) {
    const before = await getPodRow(db, actor.userId, id, 'for update');
    refuseClusterPod(before);
    bus.publish('pod', id);
    const change = typeof update === 'function' ? update(before) : update;
    if (Object.keys(change).length === 0) return before;
    const { mounts: mountChange, ...own } = change;
    const fields =
      change.templateId === undefined ? own : await withTemplate(db, actor, before, own, change.templateId);
    const after = { ...before, ...fields, mounts: changeMounts(before.mounts, mountChange ?? {}) };
    await checkPodContainer(db, actor, before, fields);
    return updatePodRow(db, after, isHolding(before.status) && !hasSameContainer(before, after));
  },
  subject: ({ id }) => id,
};

/** The template that the pod had before begins its rest. */
async function withTemplate(
  db: Db,
  actor: Actor,
  before: Pod,
  given: Omit<PodChange, 'mounts'>,
  templateId: string,
): Promise<Omit<PodChange, 'mounts'>> {
  const template = await usePodTemplate(db, actor, templateId);
  if (before.templateId !== null && before.templateId !== templateId) await updateTemplateUse(db, before.templateId);
  return { ...given, ...mergeContainer(template, given) };
}

/**
 * docs/interface/rest.md, "Pod mounts", `mounts` of a PATCH: kinds and volumes are fixed; paths may change, and storage
 * may grow.
 */
function changeMounts(before: PodMounts, { persistent, network }: NonNullable<PodChange['mounts']>): PodMounts {
  if (persistent && !before.persistent) refuse('persistent: the pod was created without one');
  if (persistent && persistent.sizeGb < before.persistent!.sizeGb) {
    refuse(`persistent.size: can only grow, and is ${before.persistent!.sizeGb} GB now`);
  }
  if (network !== undefined && !before.network) refuse('network: the pod was created without one');
  if (network === null) refuse('network: the volume cannot be detached from a pod');
  if (network && network.volumeId !== before.network!.volumeId) {
    refuse(`network: the volume '${before.network!.volumeId}' cannot be replaced`);
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
