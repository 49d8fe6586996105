import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure } from '../../core/errors.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import type { ImageIdentity } from '../../domain/images/image-identity.ts';
import {
  type FoundImage,
  findResolvedImages,
  keyOfRelease,
  pinReleaseImages,
  type ReleaseKey,
  type ResolvedImage,
  updateImageProblem,
} from '../../domain/releases/release-images.ts';
import type { OnProgress, Runtime, WorkloadSpec } from '../../runtimes/runtime.ts';
import { bringImage, type WantedImage } from './bring-image.ts';

const MAX_REMEMBERED = 10_000;
const BATCHES = { lanes: 1, maxSize: 500, isCallFault: () => false };

/** The image of a release. */
export type WantedRelease = ReleaseKey & WantedImage;

export interface ReleaseImageDeps {
  pool: Pool;
  runtime: Runtime;
  secretBox: SecretBox;
}

/**
 * The images of releases. The name of an image is resolved once for each release, and all its workers run exactly that
 * (docs/decisions/0103-identity-of-images.md). What is resolved never changes, so it is read once.
 */
export class ReleaseImages {
  readonly #deps: ReleaseImageDeps;
  readonly #pinned = new BoundedMap<string, ImageIdentity>(MAX_REMEMBERED);
  /** Releases whose image was last found to be out of reach. */
  readonly #missing = new BoundedMap<string, true>(MAX_REMEMBERED);
  readonly #reads: Batcher<ReleaseKey, ResolvedImage | undefined>;
  readonly #pins: Batcher<FoundImage, ImageIdentity | undefined>;

  constructor(deps: ReleaseImageDeps) {
    this.#deps = deps;
    this.#reads = new Batcher({
      ...BATCHES,
      flush: async (releases) => {
        const found = await findResolvedImages(deps.pool, releases);
        return releases.map((release) => found.get(keyOfRelease(release)));
      },
    });
    this.#pins = new Batcher({
      ...BATCHES,
      flush: async (images) => {
        const pinned = await pinReleaseImages(deps.pool, images);
        return images.map((image) => pinned.get(keyOfRelease(image)));
      },
    });
  }

  /** True when this process knows what the image of a release is. */
  isResolved(release: ReleaseKey): boolean {
    return this.#pinned.has(keyOfRelease(release));
  }

  /** Returns what the image of a release is; null while nobody knows. */
  async find(release: ReleaseKey): Promise<ImageIdentity | null> {
    const key = keyOfRelease(release);
    const known = this.#pinned.get(key);
    if (known) return known;
    const found = await this.#reads.run(release);
    if (found?.problem) this.#missing.set(key, true);
    if (found?.identity) this.#pinned.set(key, found.identity);
    return found?.identity ?? null;
  }

  /**
   * Makes the image of a release present, and resolves it if it is the first time. A problem of the image is recorded until
   * it is gone. Throws an error whose message is fit for users.
   */
  async bring(release: WantedRelease, onProgress?: OnProgress): Promise<WorkloadSpec['registry']> {
    try {
      const pinned = await this.find(release);
      const { registry, identity } = await this.#prepare(release, pinned, onProgress);
      const settled = pinned ?? (identity && (await this.settle(release, identity)));
      // Another leader has resolved it meanwhile, to something else.
      if (settled && settled.digest !== identity?.digest) await this.#prepare(release, settled, onProgress);
      await this.#clearProblem(release);
      return registry;
    } catch (error) {
      await this.#recordProblem(release, error);
      throw error;
    }
  }

  /**
   * Brings the image that several releases of one user name, with the same credentials: the runtime is asked once for those
   * that are not resolved yet, and once for each identity of the others.
   */
  async bringAll(releases: readonly WantedRelease[]): Promise<WorkloadSpec['registry']> {
    const pinned = await Promise.all(releases.map(async (release) => ({ release, pin: await this.find(release) })));
    let registry: WorkloadSpec['registry'] = null;
    for (const same of Map.groupBy(pinned, ({ pin }) => pin?.reference).values()) {
      const [{ release: first, pin }, ...others] = same as [(typeof same)[number], ...typeof same];
      try {
        registry = await this.bring(first);
      } catch (error) {
        await Promise.all(others.map(({ release }) => this.#recordProblem(release, error)));
        throw error;
      }
      const identity = pin === null ? await this.find(first) : null;
      for (const { release } of others) await this.#clearProblem(release);
      if (identity) await Promise.all(others.map(({ release }) => this.settle(release, identity)));
    }
    return registry;
  }

  /** Records what the image of a release is, unless that is known. Returns what counts. */
  async settle({ endpointId, version }: ReleaseKey, identity: ImageIdentity): Promise<ImageIdentity> {
    const { digest, reference } = identity;
    const settled = (await this.#pins.run({ endpointId, version, digest, reference })) ?? identity;
    this.#pinned.set(keyOfRelease({ endpointId, version }), settled);
    return settled;
  }

  #prepare(release: WantedRelease, pinned: ImageIdentity | null, onProgress?: OnProgress) {
    return bringImage(this.#deps, release, { onProgress, ...(pinned ? { pinned } : { resolve: 'here' }) });
  }

  async #clearProblem(release: ReleaseKey): Promise<void> {
    if (this.#missing.delete(keyOfRelease(release))) await updateImageProblem(this.#deps.pool, release, null);
  }

  /** Where the runtime or the registry is away, nothing is wrong with the image. */
  async #recordProblem(release: ReleaseKey, error: unknown): Promise<void> {
    if (!(error instanceof Failure) || error.kind !== 'unprocessable') return;
    this.#missing.set(keyOfRelease(release), true);
    await updateImageProblem(this.#deps.pool, release, error.message);
  }
}
