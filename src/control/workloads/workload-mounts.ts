import { Failure } from '../../core/errors.ts';
import type { PodId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Pod } from '../../domain/pods/pod.ts';
import { checkMountPath } from '../../domain/volumes/check-mount-path.ts';
import type { Volume } from '../../domain/volumes/volume.ts';
import { listVolumesById } from '../../domain/volumes/volume-store.ts';
import type { Mount, StorageOwner, StorageRequest, WorkloadStorage } from '../../runtimes/runtime.ts';

/** Storage of a start: the mounts, and the variables that describe them to the workload. */
export interface MountedStorage {
  mounts: Mount[];
  env: Record<string, string>;
}

/** Where workers find their network volume (docs/interface/worker-api.md, "Worker environment"). */
const WORKER_MOUNT_PATH = '/runpod-volume';
const NOTHING: MountedStorage = { mounts: [], env: {} };

/**
 * Finds the storage of workers and pods and where it is mounted. Only the user's own volumes are considered, and names in
 * storage are never a user's input.
 */
export class WorkloadMounts {
  readonly #deps: { pool: Db; storage: WorkloadStorage | null };

  /** `storage` is null when the runtime cannot mount any. */
  constructor(deps: { pool: Db; storage: WorkloadStorage | null }) {
    this.#deps = deps;
  }

  /** Mounts the release's volume in the worker's data center, else its first. Throws an error fit for users when it is gone. */
  async ofWorker(
    worker: { userId: UserId; spec: { networkVolumeIds: readonly string[] } },
    dataCenterId: string | null,
  ): Promise<MountedStorage> {
    const ids = worker.spec.networkVolumeIds;
    if (ids.length === 0) return NOTHING;
    const volumes = await listVolumesById(this.#deps.pool, worker.userId, ids);
    const volume = volumes.find((one) => one.dataCenterId === dataCenterId) ?? volumes[0];
    if (!volume) throw new Failure('unprocessable', `the network volume '${ids[0]}' is gone: the worker needs it`);
    return this.#networkMount(volume, WORKER_MOUNT_PATH);
  }

  /** Mounts the pod's persistent storage or network volume at its path. Throws an error fit for users when it is gone. */
  async ofPod(pod: Pick<Pod, 'id' | 'userId' | 'mounts'>): Promise<MountedStorage> {
    const { persistent, network } = pod.mounts;
    if (persistent) {
      const target = checkMountPath(persistent.path);
      const request = { sizeGb: persistent.sizeGb, type: 'STANDARD' as const };
      const source = await this.#ensure({ kind: 'pod', id: pod.id }, request);
      return { mounts: [{ source, target }], env: { RUNPOD_VOLUME_PATH: target } };
    }
    if (!network) return NOTHING;
    const [volume] = await listVolumesById(this.#deps.pool, pod.userId, [network.volumeId]);
    if (!volume)
      throw new Failure('unprocessable', `the network volume '${network.volumeId}' is gone: the pod needs it`);
    return this.#networkMount(volume, checkMountPath(network.path));
  }

  /** Destroys a pod's persistent storage. The pod must not run any more. Idempotent. */
  async removePodStorage(id: PodId): Promise<void> {
    await this.#deps.storage?.remove({ kind: 'pod', id });
  }

  async #networkMount(
    volume: Pick<Volume, 'id' | 'dataCenterId' | 'sizeGb' | 'type'>,
    target: string,
  ): Promise<MountedStorage> {
    const { id, dataCenterId } = volume;
    const source = await this.#ensure({ kind: 'volume', dataCenterId, id }, volume);
    return { mounts: [{ source, target }], env: { RUNPOD_VOLUME_ID: id, RUNPOD_VOLUME_PATH: target } };
  }

  async #ensure(owner: StorageOwner, request: StorageRequest): Promise<string> {
    if (this.#deps.storage === null) throw new Failure('unprocessable', 'this runtime cannot mount volumes');
    return this.#deps.storage.ensure(owner, request);
  }
}
