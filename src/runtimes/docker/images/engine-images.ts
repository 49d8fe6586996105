/**
 * The engine's images. All users share the engine, but not every user may use every image. An image that Podyard pulled with
 * credentials is private: to use it, by name, id or digest, credentials must be valid at the registry. Images that the
 * operator pulled or tagged on the engine are open to all. See docs/decisions/0012-private-images.md.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { Failure, messageOf } from '../../../core/errors.ts';
import { BUILT_LABEL, isBuildImage, lostBuildImage } from '../../../domain/builds/build-image.ts';
import { digestIn, type ImageIdentity, identityIn, repositoryOf } from '../../../domain/images/image-identity.ts';
import { pullFailure, registryOf } from '../../../domain/images/pull-failure.ts';
import { NO_MIRRORS, nameAtMirror, type RegistryMirrors } from '../../../domain/images/registry-mirrors.ts';
import { checkRegistryAddress } from '../../../domain/images/registry-policy.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import type { PrepareOptions, RegistryAuth } from '../../runtime.ts';
import { buildImageOn, type ExampleImage, exampleOf } from './example-images.ts';
import { JoinedWork } from './joined-work.ts';
import { familiarName, pullImage, withTag } from './pull-image.ts';

/** How long a registry's answer is cached: revoked credentials start nothing new after this. */
const ACCESS_TTL_MS = 5 * 60_000;
const CHECK_TIMEOUT_MS = 20_000;
const MAX_CACHED = 10_000;

/** The members used of `GET /images/{name}/json`. */
interface PresentImage {
  Id: string;
  RepoTags: string[] | null;
  /** `<name>@<digest>` of each registry's repository that has it. */
  RepoDigests?: string[] | null;
  Config?: { Env?: string[] | null; Labels?: Record<string, string> | null } | null;
}

/** The facts about an image that is present. */
interface Known {
  image: string;
  identity: ImageIdentity;
  /** To all users, not only to those with credentials. */
  isOpen: boolean;
}

export class EngineImages {
  readonly #engine: Engine;
  readonly #private: RecordedNames;
  /** Images that Podyard pulled by name: only those names does a registry decide about. */
  readonly #pulled: RecordedNames;
  readonly #mirrors: RegistryMirrors;
  readonly #accessTtlMs: number;
  readonly #clock: Clock;
  readonly #work = new JoinedWork<ImageIdentity>();
  /** By name: an engine may fetch layers twice that two pulls need at the same time. */
  readonly #pulls = new JoinedWork<boolean>();
  /** By image, what is pinned, and credentials: when access was last confirmed. For images open to all it does not expire. */
  readonly #known = new BoundedMap<string, Known & { at: number }>(MAX_CACHED);
  /** The variables that images set, by id or by a name with a digest: what these stand for never changes. */
  readonly #variables = new BoundedMap<string, ReadonlySet<string>>(MAX_CACHED);

  /** `stateDir` records which images are private or were pulled; without it only this process knows. */
  constructor(
    engine: Engine,
    options: { stateDir?: string; accessTtlMs?: number; clock?: Clock; mirrors?: RegistryMirrors },
  ) {
    this.#engine = engine;
    this.#private = new RecordedNames(options.stateDir, 'private-images');
    this.#pulled = new RecordedNames(options.stateDir, 'pulled-images');
    this.#mirrors = options.mirrors ?? NO_MIRRORS;
    this.#accessTtlMs = options.accessTtlMs ?? ACCESS_TTL_MS;
    this.#clock = options.clock ?? monotonicClock;
  }

  /** See `Runtime.prepare`. */
  async prepare(image: string, options: PrepareOptions): Promise<ImageIdentity> {
    const { auth, pinned, resolve } = options;
    // Users' credentials must not share a pull: one may have access and the other not.
    const keyOf = (reference?: string) => JSON.stringify([image, reference, auth?.username, auth?.password]);
    const key = keyOf(resolve ? undefined : pinned?.reference);
    const known = this.#known.get(key);
    const isKnown = known && (known.isOpen || this.#clock.now() - known.at < this.#accessTtlMs);
    if (isKnown && !resolve) return known.identity;
    return this.#work.run(resolve ? `${resolve} ${key}` : key, options.onProgress, async (onProgress) => {
      const at = this.#clock.now();
      const found = await this.#ensure(image, { ...options, onProgress }, known !== undefined);
      // The next start is pinned to it, and has nothing to ask for.
      for (const each of [key, keyOf(found.identity.reference)]) this.#known.set(each, { ...found, at });
      return found.identity;
    });
  }

  /** See `Runtime.admitImage`. */
  async admit(image: string, auth: RegistryAuth | undefined): Promise<void> {
    const present = await this.#find(image);
    if (!present) return;
    if (isBuiltUnderOtherName(image, present)) throw pullFailure(image, new EngineError(404, 'access denied'), auth);
    if (this.#isPrivate(image, present)) await this.#checkAccess(image, auth);
  }

  /** Call when the image turned out to be missing, by name or reference: the next `prepare` asks the engine again. */
  forget(image: string): void {
    for (const [key, known] of this.#known) {
      if (known.image === image || known.identity.reference === image) this.#known.delete(key);
    }
  }

  /** Returns the names of the variables that an image sets; none for one that is not present. */
  async variablesOf(image: string): Promise<ReadonlySet<string>> {
    const known = this.#variables.get(image);
    if (known) return known;
    const found = await this.#find(image);
    return found ? variablesIn(found) : new Set();
  }

  /** Resolves once the image is present and the caller may use it. */
  async #ensure(image: string, options: PrepareOptions, hadAccess: boolean): Promise<Known> {
    const pinned = options.resolve ? undefined : options.pinned;
    const found = await this.#find(pinned?.reference ?? image);
    const present = found && isBuiltUnderOtherName(image, found) ? undefined : found;
    if (!present && isBuildImage(image)) throw lostBuildImage(image);
    if (!present && pinned) return this.#pullPinned(image, pinned, options);
    if (!present || (options.resolve === 'in registry' && this.#mayHaveMoved(image, present, options))) {
      const isOpen = await this.#pull(image, image, options);
      return {
        image,
        isOpen,
        identity: identityOf(image, (await this.#find(image)) ?? present, this.#mirrors, options.pinned),
      };
    }
    const known = { image, identity: pinned ?? identityOf(image, present, this.#mirrors, options.pinned) };
    if (!this.#isPrivate(image, present)) return { ...known, isOpen: true };
    try {
      await this.#checkAccess(image, options.auth);
    } catch (error) {
      // An unreachable registry does not stop users who had access; others wait for it.
      const isAway = error instanceof Failure && error.kind === 'unavailable';
      if (!isAway || !hadAccess) throw error;
    }
    return { ...known, isOpen: false };
  }

  /** The machine has lost it: it was pruned, or this is another machine. */
  async #pullPinned(image: string, pinned: ImageIdentity, options: PrepareOptions): Promise<Known> {
    const { reference, digest } = pinned;
    if (!reference.includes('@')) {
      const text = `Image '${image}' was ${digest} when this release was made. That is not on this machine any more, and in no registry`;
      throw new Failure('unprocessable', `${text}: update the endpoint with an image, or roll it back.`);
    }
    try {
      return { image, identity: pinned, isOpen: await this.#pull(image, reference, options) };
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'unprocessable') throw error;
      const text = `${error.message} The release runs exactly that, which is not on this machine any more either`;
      throw new Failure('unprocessable', `${text}: update the endpoint with an image, or roll it back.`, {
        cause: error.cause,
      });
    }
  }

  /** Pulls `reference`, which is that of the image or fixes a digest of it. Resolves with true when it is open to all. */
  #pull(image: string, reference: string, options: PrepareOptions): Promise<boolean> {
    return this.#pulls.runAfter(familiarName(image), options.onProgress, async (onProgress, hasWaited) => {
      if (hasWaited && !options.auth && options.resolve !== 'in registry') {
        const present = await this.#find(reference);
        if (present && !this.#isPrivate(image, present)) return true; // the others have brought it
      }
      return this.#pullNow(image, reference, { ...options, onProgress });
    });
  }

  async #pullNow(image: string, reference: string, options: PrepareOptions): Promise<boolean> {
    const example = exampleOf(reference);
    if (example) return this.#build(example, options);
    await checkRegistryAddress(reference);
    if (options.auth) this.#private.add(familiarName(image)); // before the pull: a kill in between must not open it to all
    if (options.auth || !(await this.#pullFromMirror(reference, options)))
      await pullImage(this.#engine, reference, { ...options, clock: this.#clock });
    if (digestIn(reference) === null) this.#pulled.add(familiarName(reference));
    if (!options.auth) return true;
    const pulled = await this.#find(reference);
    if (pulled) this.#private.add(pulled.Id);
    this.#known.clear(); // an image open until now may be this one
    return false;
  }

  /**
   * Resolves with false where nothing came of it. The name at the mirror stays: the engine knows the digest by that alone. A mirror
   * never gets users' credentials, nor what takes some: it would serve that to everybody.
   */
  async #pullFromMirror(reference: string, { onProgress }: PrepareOptions): Promise<boolean> {
    const full = withTag(reference);
    const mirrored = nameAtMirror(full, this.#mirrors);
    if (mirrored === null) return false;
    const progress = { ...(onProgress && { onProgress }), clock: this.#clock, shownAs: reference };
    try {
      await pullImage(this.#engine, mirrored, progress);
      if (digestIn(full) === null) {
        const query = { repo: repositoryOf(full), tag: full.slice(repositoryOf(full).length + 1) };
        await this.#engine.json({ method: 'POST', path: `/images/${inPath(mirrored)}/tag`, query });
      }
      onProgress?.(`It came from the mirror ${registryOf(mirrored)}`);
      return true;
    } catch (error) {
      const registry = registryOf(reference);
      onProgress?.(`The mirror of ${registry} failed, so ${registry} itself is asked: ${messageOf(error)}`);
      return false;
    }
  }

  /** Returns the name by which the engine has an image: that at the mirror for a digest that came from there. */
  async nameHere(image: string): Promise<string> {
    const mirrored = nameAtMirror(image, this.#mirrors);
    if (mirrored === null || (await this.#findAs(image)) !== undefined) return image;
    return (await this.#findAs(mirrored)) === undefined ? image : mirrored;
  }

  /** The examples are in no registry: they are made here of what this program has with it. */
  async #build(example: ExampleImage, { onProgress }: PrepareOptions): Promise<boolean> {
    const { status, note } = await buildImageOn(this.#engine, example);
    if (status === 'skipped') throw new Failure('unprocessable', `${note} It is made on the machine of the server.`);
    onProgress?.(note);
    return true;
  }

  /**
   * True for a name that a registry can give to another image. A short name that was not pulled here may be one that the operator gave:
   * some engines say of their own images, too, that Docker Hub has them, where the name may be another publisher's.
   */
  #mayHaveMoved(image: string, present: PresentImage, { pinned }: PrepareOptions): boolean {
    if (isBuildImage(image) || digestIn(image) !== null || exampleOf(image)) return false;
    if (registryDigests(image, present, this.#mirrors).length === 0) return false;
    const registry = registryOf(image);
    const isShort = registry === 'docker.io' || registry === 'localhost';
    if (isShort && !this.#pulled.has(familiarName(image))) return false;
    // The operator has given the name to another image meanwhile: that is the answer.
    return pinned === undefined || identityOf(image, present, this.#mirrors, pinned).digest === pinned.digest;
  }

  /** A tag that was never pulled with credentials was made by the operator, even if the image has private names too. */
  #isPrivate(image: string, { Id, RepoTags }: PresentImage): boolean {
    const name = familiarName(image);
    if (this.#private.has(name)) return true;
    return this.#private.has(Id) && !(RepoTags ?? []).some((tag) => familiarName(tag) === name);
  }

  /** Requests the image's manifest from the registry, through the engine. Throws a Failure with a sentence for users. */
  async #checkAccess(image: string, auth: RegistryAuth | undefined): Promise<void> {
    await checkRegistryAddress(image);
    try {
      await this.#engine.json({
        method: 'GET',
        path: `/distribution/${inPath(image)}/json`,
        ...(auth && { auth: { ...auth, serverAddress: registryOf(image) } }),
        timeoutMs: CHECK_TIMEOUT_MS,
      });
    } catch (error) {
      throw error instanceof EngineError ? pullFailure(image, error, auth) : error;
    }
  }

  async #find(image: string): Promise<PresentImage | undefined> {
    let found = await this.#findAs(image);
    const mirrored = found ? null : nameAtMirror(image, this.#mirrors);
    if (mirrored !== null) found = await this.#findAs(mirrored);
    if (found) this.#variables.set(digestIn(image) === null ? found.Id : image, variablesIn(found));
    return found;
  }

  async #findAs(image: string): Promise<PresentImage | undefined> {
    try {
      return await this.#engine.json<PresentImage>({ method: 'GET', path: `/images/${inPath(image)}/json` });
    } catch (error) {
      // 400: not a valid image name; the pull explains it better
      if (isRefusal(error, 404) || isRefusal(error, 400)) return undefined;
      throw error;
    }
  }
}

function variablesIn({ Config }: PresentImage): ReadonlySet<string> {
  return new Set((Config?.Env ?? []).map((variable) => variable.split('=', 1)[0]!));
}

/**
 * True for an image that a build made and that was found by its id, or a part of it: only its name identifies the owner, so other users
 * must not find it. The operator may have given it another name.
 */
function isBuiltUnderOtherName(image: string, { RepoTags, Config }: PresentImage): boolean {
  if (isBuildImage(image)) return false;
  const tags = RepoTags ?? [];
  const isBuilt = tags.some(isBuildImage) || Config?.Labels?.[BUILT_LABEL] !== undefined;
  return isBuilt && !tags.some((tag) => familiarName(tag) === familiarName(image));
}

/** Returns what a name stands for. Where the registry knows the image by several digests, a fixed or earlier one counts. */
function identityOf(
  image: string,
  present: PresentImage | undefined,
  mirrors: RegistryMirrors,
  pinned?: ImageIdentity,
): ImageIdentity {
  if (!present) throw new Failure('unavailable', `Image '${image}' is not present on this machine`);
  const digests = registryDigests(image, present, mirrors);
  const known = [digestIn(image), pinned?.digest].find((digest) => digest && digests.includes(digest));
  const digest = known ?? digests[0];
  return digest === undefined ? { digest: present.Id, reference: present.Id } : identityIn(image, digest);
}

/** Returns the digests by which the repository of this name, or its mirror, has the image. */
function registryDigests(image: string, { RepoDigests }: PresentImage, mirrors: RegistryMirrors): string[] {
  const repository = repositoryOf(image);
  const names = [repository, nameAtMirror(repository, mirrors)].flatMap((name) => (name ? [familiarName(name)] : []));
  return (RepoDigests ?? []).flatMap((one) => {
    const [name, digest] = one.split('@') as [string, string];
    return names.includes(familiarName(name)) ? [digest] : [];
  });
}

/** Users choose the name: escape it so that it stays one part of the path. */
function inPath(image: string): string {
  return image.split('/').map(encodeURIComponent).join('/');
}

/** Names and ids of images with a record. Each is an empty file, so that processes share them. */
class RecordedNames {
  readonly #directory: string | undefined;
  readonly #added = new Set<string>();

  constructor(stateDir: string | undefined, name: string) {
    this.#directory = stateDir && join(stateDir, name);
  }

  has(name: string): boolean {
    return this.#added.has(name) || (this.#directory !== undefined && existsSync(this.#fileOf(name)));
  }

  add(name: string): void {
    this.#added.add(name);
    if (!this.#directory) return;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    writeFileSync(this.#fileOf(name), '');
  }

  #fileOf(name: string): string {
    return join(this.#directory!, createHash('sha256').update(name).digest('hex'));
  }
}
