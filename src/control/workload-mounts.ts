import { Failure } from '../core/errors.ts';
import type { PodId, UserId } from '../core/ids.ts';
import type { Db } from '../db/pool.ts';
import type { Pod } from '../domain/pods/pod.ts';
import { checkMountPath } from '../domain/volumes/check-mount-path.ts';
import { listVolumesById } from '../domain/volumes/volume-store.ts';
import type { Mount, Runtime } from '../runtimes/runtime.ts';
import type { StorageDirectories } from './storage-directories.ts';
import type { StorageQuotas } from './storage-quotas.ts';

/** What a start needs to know of storage: the mounts, and the variables that tell the workload of them. */
export interface WorkloadStorage {
  mounts: Mount[];
  env: Record<string, string>;
}

/** Where workers find their network volume (data-plane.md part A, "Worker environment"). */
const WORKER_MOUNT_PATH = '/runpod-volume';
const NOTHING: WorkloadStorage = { mounts: [], env: {} };

/**
 * The storage of workers and pods: which directory of this machine goes where in the container. Only the user's own
 * volumes are looked at, and the directory's name is never anybody's input.
 */
export class WorkloadMounts {
  readonly #pool: Db;
  readonly #runtime: Runtime;
  readonly #directories: StorageDirectories;
  readonly #quotas: StorageQuotas;

  constructor(options: { pool: Db; runtime: Runtime; directories: StorageDirectories; quotas: StorageQuotas }) {
    this.#pool = options.pool;
    this.#runtime = options.runtime;
    this.#directories = options.directories;
    this.#quotas = options.quotas;
  }

  /** Of the release's volumes the one in the worker's data centre, else the first. Throws a sentence when it cannot be had. */
  async ofWorker(
    worker: { userId: UserId; spec: { networkVolumeIds: readonly string[] } },
    dataCenterId: string | null,
  ): Promise<WorkloadStorage> {
    const ids = worker.spec.networkVolumeIds;
    if (ids.length === 0) return NOTHING;
    const volumes = await listVolumesById(this.#pool, worker.userId, ids);
    const volume = volumes.find((one) => one.dataCenterId === dataCenterId) ?? volumes[0];
    if (!volume) throw new Failure('unavailable', `the network volume '${ids[0]}' is gone: the worker needs it`);
    return this.#networkMount(volume, WORKER_MOUNT_PATH);
  }

  /** The pod's own storage, or its network volume, at the path it asks for. Throws a sentence when it cannot be had. */
  async ofPod(pod: Pick<Pod, 'id' | 'userId' | 'mounts'>): Promise<WorkloadStorage> {
    const { persistent, network } = pod.mounts;
    if (persistent) {
      const target = checkMountPath(persistent.path);
      const source = await this.#directory({ kind: 'pod', id: pod.id }, persistent.sizeGb);
      return { mounts: [{ source, target }], env: { RUNPOD_VOLUME_PATH: target } };
    }
    if (!network) return NOTHING;
    const [volume] = await listVolumesById(this.#pool, pod.userId, [network.volumeId]);
    if (!volume) throw new Failure('unavailable', `the network volume '${network.volumeId}' is gone: the pod needs it`);
    return this.#networkMount(volume, checkMountPath(network.path));
  }

  /** Destroys a pod's own storage. The pod must not run any more. Idempotent. */
  async removePodStorage(id: PodId): Promise<void> {
    await this.#directories.remove({ kind: 'pod', id });
  }

  async #networkMount(
    volume: { id: string; dataCenterId: string; sizeGb: number },
    target: string,
  ): Promise<WorkloadStorage> {
    const source = await this.#directory({ ...volume, kind: 'volume' }, volume.sizeGb);
    return { mounts: [{ source, target }], env: { RUNPOD_VOLUME_ID: volume.id, RUNPOD_VOLUME_PATH: target } };
  }

  async #directory(owner: Parameters<StorageDirectories['ensure']>[0], sizeGb: number): Promise<string> {
    if (!this.#runtime.capabilities.volumes) {
      throw new Failure('unavailable', `the ${this.#runtime.name} runtime cannot mount volumes`);
    }
    try {
      const path = await this.#directories.ensure(owner);
      await this.#quotas.limit(path, sizeGb);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') {
        throw new Failure('unavailable', 'The disk of this machine is full: the storage could not be made', {
          cause: error,
        });
      }
      throw error;
    }
  }
}
