import { Failure } from '../../core/errors.ts';
import type { PodId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Pod } from '../../domain/pods/pod.ts';
import { checkMountPath } from '../../domain/volumes/check-mount-path.ts';
import type { Volume } from '../../domain/volumes/volume.ts';
import { listVolumesById } from '../../domain/volumes/volume-store.ts';
import type { Mount } from '../../runtimes/runtime.ts';
import type { StorageOwner, StorageRequest, WorkloadStorage } from '../../runtimes/storage.ts';

/** What a start needs to know of storage: the mounts, and the variables that tell the workload of them. */
export interface MountedStorage {
  mounts: Mount[];
  env: Record<string, string>;
}

/** Where workers find their network volume (docs/interface/worker-api.md, "Worker environment"). */
const WORKER_MOUNT_PATH = '/runpod-volume';
const NOTHING: MountedStorage = { mounts: [], env: {} };

/**
 * The storage of workers and pods: which piece of it goes where in the container. Only the user's own volumes are looked
 * at, and what the storage is named is never anybody's input.
 */
export class WorkloadMounts {
  readonly #pool: Db;
  readonly #storage: WorkloadStorage | null;

  /** `storage` is null where the runtime can mount none. */
  constructor(options: { pool: Db; storage: WorkloadStorage | null }) {
    this.#pool = options.pool;
    this.#storage = options.storage;
  }

  /** Of the release's volumes the one in the worker's data centre, else the first. Throws a sentence when it cannot be had. */
  async ofWorker(
    worker: { userId: UserId; spec: { networkVolumeIds: readonly string[] } },
    dataCenterId: string | null,
  ): Promise<MountedStorage> {
    const ids = worker.spec.networkVolumeIds;
    if (ids.length === 0) return NOTHING;
    const volumes = await listVolumesById(this.#pool, worker.userId, ids);
    const volume = volumes.find((one) => one.dataCenterId === dataCenterId) ?? volumes[0];
    if (!volume) throw new Failure('unavailable', `the network volume '${ids[0]}' is gone: the worker needs it`);
    return this.#networkMount(volume, WORKER_MOUNT_PATH);
  }

  /** The pod's own storage, or its network volume, at the path it asks for. Throws a sentence when it cannot be had. */
  async ofPod(pod: Pick<Pod, 'id' | 'userId' | 'mounts'>): Promise<MountedStorage> {
    const { persistent, network } = pod.mounts;
    if (persistent) {
      const target = checkMountPath(persistent.path);
      const wish = { sizeGb: persistent.sizeGb, type: 'STANDARD' as const };
      const source = await this.#ensure({ kind: 'pod', id: pod.id }, wish);
      return { mounts: [{ source, target }], env: { RUNPOD_VOLUME_PATH: target } };
    }
    if (!network) return NOTHING;
    const [volume] = await listVolumesById(this.#pool, pod.userId, [network.volumeId]);
    if (!volume) throw new Failure('unavailable', `the network volume '${network.volumeId}' is gone: the pod needs it`);
    return this.#networkMount(volume, checkMountPath(network.path));
  }

  /** Destroys a pod's own storage. The pod must not run any more. Idempotent. */
  async removePodStorage(id: PodId): Promise<void> {
    await this.#storage?.remove({ kind: 'pod', id });
  }

  async #networkMount(
    volume: Pick<Volume, 'id' | 'dataCenterId' | 'sizeGb' | 'type'>,
    target: string,
  ): Promise<MountedStorage> {
    const { id, dataCenterId } = volume;
    const source = await this.#ensure({ kind: 'volume', dataCenterId, id }, volume);
    return { mounts: [{ source, target }], env: { RUNPOD_VOLUME_ID: id, RUNPOD_VOLUME_PATH: target } };
  }

  async #ensure(owner: StorageOwner, wish: StorageRequest): Promise<string> {
    if (this.#storage === null) throw new Failure('unavailable', 'this runtime cannot mount volumes');
    return this.#storage.ensure(owner, wish);
  }
}
