import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure } from '../../core/errors.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import type { ImageIdentity } from '../../domain/images/image-identity.ts';
import {
  findResolvedImage,
  pinReleaseImage,
  type ReleaseKey,
  updateImageProblem,
} from '../../domain/releases/release-images.ts';
import type { OnProgress, Runtime, WorkloadSpec } from '../../runtimes/runtime.ts';
import { bringImage, type WantedImage } from './bring-image.ts';

const MAX_REMEMBERED = 10_000;

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

  constructor(deps: ReleaseImageDeps) {
    this.#deps = deps;
  }

  /** Returns what the image of a release is; null while nobody knows. */
  async find(release: ReleaseKey): Promise<ImageIdentity | null> {
    const key = keyOf(release);
    const known = this.#pinned.get(key);
    if (known) return known;
    const found = await findResolvedImage(this.#deps.pool, release);
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
      if (this.#missing.delete(keyOf(release))) await updateImageProblem(this.#deps.pool, release, null);
      return registry;
    } catch (error) {
      await this.#recordProblem(release, error);
      throw error;
    }
  }

  /** Records what the image of a release is, unless that is known. Returns what counts. */
  async settle(release: ReleaseKey, identity: ImageIdentity): Promise<ImageIdentity> {
    const settled = (await pinReleaseImage(this.#deps.pool, release, identity)) ?? identity;
    this.#pinned.set(keyOf(release), settled);
    return settled;
  }

  #prepare(release: WantedRelease, pinned: ImageIdentity | null, onProgress?: OnProgress) {
    return bringImage(this.#deps, release, { onProgress, ...(pinned ? { pinned } : { resolve: 'here' }) });
  }

  /** Where the runtime or the registry is away, nothing is wrong with the image. */
  async #recordProblem(release: ReleaseKey, error: unknown): Promise<void> {
    if (!(error instanceof Failure) || error.kind !== 'unprocessable') return;
    this.#missing.set(keyOf(release), true);
    await updateImageProblem(this.#deps.pool, release, error.message);
  }
}

function keyOf({ endpointId, version }: ReleaseKey): string {
  return `${endpointId}/${version}`;
}
