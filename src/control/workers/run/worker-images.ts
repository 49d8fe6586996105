import { BoundedMap } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import { Failure } from '../../../core/errors.ts';
import type { RegistryId, UserId, WorkerId } from '../../../core/ids.ts';
import type { SecretBox } from '../../../core/secret-box.ts';
import type { Pool } from '../../../db/pool.ts';
import type { ImageIdentity } from '../../../domain/images/image-identity.ts';
import { openCredentials } from '../../../domain/registries/open-credentials.ts';
import type { ReleaseKey } from '../../../domain/releases/release-images.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { OnProgress, WorkloadSpec } from '../../../runtimes/runtime.ts';
import type { ReleaseImages } from '../../workloads/release-images.ts';

/** When a worker waits for longer, the runtime is asked again whether the image is there and the user may use it. */
const PRESENT_MS = 300_000;
const MAX_REMEMBERED = 50_000;
/** An engine knows by then whether an image is there. */
const LONGEST_LOOK_MS = 50;

/** A new worker whose image needs no credentials. */
export interface UnplacedImage extends ReleaseKey {
  id: WorkerId;
  userId: UserId;
  image: string;
}

export interface ImageDeps {
  pool: Pool;
  secretBox: SecretBox;
  /** Measures intervals. */
  monotonic: Clock;
  releaseImages: ReleaseImages;
}

/**
 * Brings the images of workers before they claim a place, so that neither a long pull nor an image that does not exist holds
 * GPUs. (Where the node pulls when a workload starts, nothing can be brought, and the place is claimed first.)
 */
export class WorkerImages {
  readonly #deps: ImageDeps;
  readonly #broughtAt = new BoundedMap<WorkerId, number>(MAX_REMEMBERED);

  constructor(deps: ImageDeps) {
    this.#deps = deps;
  }

  /** True when a worker's image was brought for it. */
  isPresent({ id }: ControlledWorker): boolean {
    const at = this.#broughtAt.get(id);
    return at !== undefined && this.#deps.monotonic.now() - at < PRESENT_MS;
  }

  /** Returns those of new workers whose images are resolved and there. Others are pulled at most, and nobody waits for that. */
  async findPresent<Worker extends UnplacedImage>(workers: readonly Worker[]): Promise<Worker[]> {
    const { releaseImages, monotonic } = this.#deps;
    const known = workers.filter((worker) => releaseImages.isResolved(worker));
    if (known.length === 0) return [];
    const at = monotonic.now();
    const found = [...Map.groupBy(known, ({ endpointId }) => endpointId).values()].map(async (same) => {
      await releaseImages.bring({ ...same[0]!, registryId: null });
      for (const { id } of same) this.#broughtAt.set(id, at);
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, LONGEST_LOOK_MS);
    });
    await Promise.race([Promise.allSettled(found), late]); // a failure is reported by the start that needs it
    clearTimeout(timer);
    return known.filter(({ id }) => this.#broughtAt.has(id));
  }

  /** Pulls the image of a worker's release unless it is present. Throws an error whose message is fit for users. */
  async bring(worker: ControlledWorker, onProgress: OnProgress): Promise<void> {
    const at = this.#deps.monotonic.now();
    const { image, registryId } = worker.spec;
    await this.#deps.releaseImages.bring({ ...worker, image, registryId }, onProgress);
    this.#broughtAt.set(worker.id, at);
  }

  /** Returns what to start a worker with: what the image of its release stood for, or its name while nobody knows. */
  async referenceOf(worker: ControlledWorker): Promise<{ image: string; isPinned: boolean }> {
    const identity = await this.#deps.releaseImages.find(worker);
    return { image: identity?.reference ?? worker.spec.image, isPinned: identity !== null };
  }

  /** A worker that was started by name runs this. Throws if another worker of its release was faster and runs something else. */
  async settle(worker: ControlledWorker, identity: ImageIdentity): Promise<void> {
    const { digest } = await this.#deps.releaseImages.settle(worker, identity);
    if (digest === identity.digest) return;
    const text = `'${worker.spec.image}' became ${identity.digest} while it was pulled, and the release runs ${digest}`;
    throw new Failure('unavailable', text);
  }

  /** Returns the credentials for runtimes that pull when the workload starts. */
  async credentials({ userId, spec: { registryId } }: ControlledWorker): Promise<WorkloadSpec['registry']> {
    const auth = registryId && (await openCredentials(this.#deps, userId, registryId as RegistryId));
    return auth ? { id: registryId, auth } : null;
  }

  /** A start failed, perhaps because the image is gone. */
  forget({ id }: ControlledWorker): void {
    this.#broughtAt.delete(id);
  }
}
