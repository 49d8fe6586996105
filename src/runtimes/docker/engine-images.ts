/**
 * The images of the engine, which are there for all while the right to some of them is not. What Podyard pulled with
 * credentials counts as private: whoever asks for it, by that name, by its id or its digest, shows to the registry that
 * they may have it. What the operator put on the engine, or tagged there, is for everybody. See docs/decisions/0012-private-images.md.
 */
import { Failure } from '../../core/errors.ts';
import { InFlight } from '../in-flight.ts';
import type { OnProgress, RegistryAuth } from '../runtime.ts';
import { type Engine, EngineError, isRefusal } from './engine.ts';
import { PrivateImages } from './private-images.ts';
import { familiarName, pullFailure, pullImage, registryOf } from './pull-image.ts';

/** So long the registry's word is believed: credentials that it no longer takes start nothing new after that. */
const ACCESS_TTL_MS = 5 * 60_000;
const CHECK_TIMEOUT_MS = 20_000;

/** The members used of `GET /images/{name}/json`. */
interface PresentImage {
  Id: string;
  RepoTags: string[] | null;
}

interface PrepareOptions {
  auth?: RegistryAuth;
  onProgress?: OnProgress;
}

export class EngineImages {
  readonly #engine: Engine;
  readonly #private: PrivateImages;
  readonly #accessTtlMs: number;
  readonly #work = new InFlight();
  /** By image and credentials: when that was found to be right; for images that are open to all it stays right. */
  readonly #known = new Map<string, { image: string; isOpen: boolean; at: number }>();

  /** `stateDir` keeps over restarts which images are private; without it only this process knows. */
  constructor(engine: Engine, options: { stateDir?: string; accessTtlMs?: number }) {
    this.#engine = engine;
    this.#private = new PrivateImages(options.stateDir);
    this.#accessTtlMs = options.accessTtlMs ?? ACCESS_TTL_MS;
  }

  /** See `Runtime.prepare`. */
  async prepare(image: string, options: PrepareOptions): Promise<void> {
    // Two users' credentials must not share a pull: one may have the right and the other not.
    const key = JSON.stringify([image, options.auth?.username, options.auth?.password]);
    const known = this.#known.get(key);
    if (known && (known.isOpen || performance.now() - known.at < this.#accessTtlMs)) return;
    await this.#work.run(key, async () => {
      const at = performance.now();
      const isOpen = await this.#bring(image, options, known !== undefined);
      if (this.#known.size > 10_000) this.#known.clear();
      this.#known.set(key, { image, isOpen, at });
    });
  }

  /** It turned out to be gone: the next `prepare` looks again. */
  forget(image: string): void {
    for (const [key, known] of this.#known) if (known.image === image) this.#known.delete(key);
  }

  /** Resolves when the image is there and may be used; true when it is open to all. */
  async #bring(image: string, options: PrepareOptions, hadAccess: boolean): Promise<boolean> {
    const present = await this.#find(image);
    if (!present) return this.#pull(image, options);
    if (!this.#isPrivate(image, present)) return true;
    try {
      await this.#checkAccess(image, options.auth);
    } catch (error) {
      // Whoever had the right shall not suffer from a registry that is away; whoever never showed it waits for it.
      const isAway = error instanceof Failure && error.kind === 'unavailable';
      if (!isAway || !hadAccess) throw error;
    }
    return false;
  }

  async #pull(image: string, options: PrepareOptions): Promise<boolean> {
    if (options.auth) this.#private.add(familiarName(image)); // before it is there: a kill in between must not open it to all
    await pullImage(this.#engine, image, options);
    if (!options.auth) return true;
    const pulled = await this.#find(image);
    if (pulled) this.#private.add(pulled.Id);
    this.#known.clear(); // what was open may be this image now
    return false;
  }

  /** A tag that nobody pulled with credentials was made by the operator, whatever else the image is called. */
  #isPrivate(image: string, { Id, RepoTags }: PresentImage): boolean {
    const name = familiarName(image);
    if (this.#private.has(name)) return true;
    return this.#private.has(Id) && !(RepoTags ?? []).some((tag) => familiarName(tag) === name);
  }

  /** Asks the registry, through the engine, for the image's manifest. Throws a Failure with a sentence for users. */
  async #checkAccess(image: string, auth: RegistryAuth | undefined): Promise<void> {
    try {
      await this.#engine.json({
        method: 'GET',
        path: `/distribution/${inPath(image)}/json`,
        ...(auth && { auth: { ...auth, serverAddress: registryOf(image) } }),
        timeoutMs: CHECK_TIMEOUT_MS,
      });
    } catch (error) {
      throw error instanceof EngineError ? pullFailure(image, error, auth !== undefined) : error;
    }
  }

  async #find(image: string): Promise<PresentImage | undefined> {
    try {
      return await this.#engine.json<PresentImage>({ method: 'GET', path: `/images/${inPath(image)}/json` });
    } catch (error) {
      // 400: not a name of an image at all; the pull says so better
      if (isRefusal(error, 404) || isRefusal(error, 400)) return undefined;
      throw error;
    }
  }
}

/** A name may be anything that a user wrote; it shall end where it ends. */
function inPath(image: string): string {
  return image.split('/').map(encodeURIComponent).join('/');
}
