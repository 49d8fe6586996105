import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { buildIdOf, lostBuildImage } from '../../domain/builds/build-image.ts';
import { type ImageIdentity, identityIn } from '../../domain/images/image-identity.ts';
import type { PrepareOptions } from '../runtime.ts';
import { FolderImages } from './folder-images.ts';
import { findImage, type ProcessImage } from './images-file.ts';

/** The images of the process runtime: those of builds, folders that files name, and copies of what these contained. */
export class ProcessImages {
  readonly #files: readonly string[];
  readonly #built: string;
  readonly #copies: FolderImages;

  /**
   * `files`: see images-file.ts. `built`: the folder of what builds made. `root`: the installation's folder in the runtime's, in
   * the data directory.
   */
  constructor(files: readonly string[], built: string, root: string) {
    this.#files = files;
    this.#built = built;
    // The data directory is often inside the folder of an image under development.
    const apart = [dirname(root), dirname(dirname(root))];
    this.#copies = new FolderImages(join(root, '.images'), { apart });
  }

  /** Returns what to start, by a name or a reference. Throws `unprocessable`. */
  find(image: string): ProcessImage {
    return findBuiltImage(this.#built, image) ?? this.#copies.find(image) ?? findImage(this.#files, image);
  }

  /** See `Runtime.prepare`. Null also for a folder that is too large to copy. */
  async prepare(image: string, { pinned, resolve, onProgress }: PrepareOptions): Promise<ImageIdentity | null> {
    const built = findBuiltImage(this.#built, image);
    if (built) return { digest: built.digest, reference: image }; // it never changes, and cannot be copied
    const wanted = resolve ? undefined : pinned;
    if (wanted && this.#copies.find(wanted.reference)) return wanted;
    const found = findImage(this.#files, image);
    if (!wanted && !resolve) return null;
    const digest = await this.#copies.keep(found);
    if (wanted && digest !== wanted.digest) {
      const text = `Image '${image}' was ${wanted.digest} when this release was made. That copy is gone, and ${found.directory} was edited since`;
      throw new Failure('unprocessable', `${text}: update the endpoint with an image, or roll it back.`);
    }
    if (digest !== null) return identityIn(image, digest);
    onProgress?.(`${found.directory} is too large to copy: workers run what it contains when they start`);
    return null;
  }

  /** See `Runtime.keepImages`. */
  async keep(references: readonly string[]): Promise<void> {
    await this.#copies.prune(references);
  }
}

/**
 * Finds an image that a build made (builders/processes/process-builder.ts), with its digest; undefined for the name of any other
 * image. Throws `unprocessable` if it is not here any more.
 */
function findBuiltImage(root: string, image: string): (ProcessImage & { digest: string }) | undefined {
  const buildId = buildIdOf(image);
  if (buildId === null) return undefined;
  let text: string;
  try {
    text = readFileSync(join(root, buildId, 'image.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw lostBuildImage(image);
  }
  const { command, digest } = JSON.parse(text) as { command: string[]; digest: string };
  return { command, digest, directory: join(root, buildId, 'files') };
}
