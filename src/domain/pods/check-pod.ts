import { Failure } from '../../core/errors.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { findDataCenter, findGpuType } from '../catalog/catalog.ts';
import { noSuchItem } from '../catalog/no-such-item.ts';
import { checkContainer } from '../containers/check-container.ts';
import { checkHttpPortCount, checkRepeatedPort } from '../containers/check-ports.ts';
import { checkAddedReferences, checkReferences } from '../containers/check-references.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';
import { checkCudaVersions } from '../endpoints/gpu-rule.ts';
import { checkMountPath } from '../volumes/check-mount-path.ts';
import type { Pod, PodGpu, PodMounts } from './pod.ts';

/**
 * The container's rules that a schema cannot see; judges only what is present. Throws `badRequest`, and `forbidden` for a
 * reference that `before` does not have and the key may not add.
 */
export async function checkPodContainer(
  db: Db,
  actor: Actor,
  before: Pod | null,
  given: Partial<ContainerConfig>,
): Promise<void> {
  checkContainer(given);
  if (given.ports) {
    checkRepeatedPort(given.ports);
    checkHttpPortCount(given.ports);
  }
  const volume = before?.mounts.network?.volumeId;
  const had = before && { ...before, networkVolumeIds: volume === undefined ? [] : [volume] };
  await checkReferences(db, actor, had, given);
}

/** Checks a new pod's hardware against the catalog. Throws `badRequest`. */
export function checkHardware(given: {
  gpu: PodGpu | null;
  cpu: { id: string; vcpuCount: number } | null;
  dataCenterIds: readonly string[];
}): void {
  const { gpu, cpu, dataCenterIds } = given;
  if ((gpu === null) === (cpu === null)) throw new Failure('badRequest', 'gpu, cpu: exactly one of them is required');
  if (gpu && !findGpuType(gpu.id)) throw new Failure('badRequest', `gpu.id: ${noSuchItem('GPU type', gpu.id)}`);
  if (gpu) checkCudaVersions(gpu);
  const unknown = dataCenterIds.find((id) => !findDataCenter(id));
  if (unknown !== undefined) {
    throw new Failure('badRequest', `dataCenterIds: ${noSuchItem('data center', unknown)}`);
  }
}

/** Throws `badRequest` for both kinds at once, for persistent storage on a CPU pod, and for a path of the image's system. */
export function checkMounts(mounts: PodMounts, isCpuPod: boolean): void {
  if (mounts.persistent && mounts.network) {
    throw new Failure('badRequest', 'mounts: a pod has at most one of persistent and network');
  }
  if (mounts.persistent && isCpuPod) {
    throw new Failure('badRequest', 'mounts.persistent: a CPU pod cannot have persistent storage');
  }
  for (const mount of [mounts.persistent, mounts.network]) if (mount) checkMountPath(mount.path);
}

/**
 * Returns the data center of the user's volume, and locks the volume against deletion until the commit. Throws
 * `badRequest` if there is no such volume, or the pod must be elsewhere, and `forbidden` if the key may not read it.
 */
export async function checkNetworkMount(
  db: Db,
  actor: Actor,
  volumeId: string,
  dataCenterIds: readonly string[],
): Promise<string> {
  checkAddedReferences(actor, null, { networkVolumeIds: [volumeId] });
  const result = await db.query<{ dataCenterId: string }>(
    'select data_center_id as "dataCenterId" from network_volumes where id = $1 and user_id = $2 for key share',
    [volumeId, actor.userId],
  );
  const dataCenterId = result.rows[0]?.dataCenterId;
  if (dataCenterId === undefined) {
    throw new Failure('badRequest', `mounts.network: there is no network volume '${volumeId}'`);
  }
  if (dataCenterIds.length > 0 && !dataCenterIds.includes(dataCenterId)) {
    const detail = `mounts.network: volume '${volumeId}' is in ${dataCenterId}, which dataCenterIds does not list`;
    throw new Failure('badRequest', detail);
  }
  return dataCenterId;
}
