/**
 * Builds for a cluster, whose nodes pull: a container engine builds, and a registry keeps the images. Each image has a tag that names
 * its installation and build; the engine keeps only its cache. Nodes pull by the digest that the registry gave.
 */
import { monotonicClock } from '../../core/clock.ts';
import { Failure, messageOf } from '../../core/errors.ts';
import { BUILT_LABEL, buildIdOf, isBuildImage } from '../../domain/builds/build-image.ts';
import { type BuildRegistry, buildTagOf, imageOfBuildTag } from '../../domain/images/build-registry.ts';
import { digestIn, repositoryOf } from '../../domain/images/image-identity.ts';
import { parseImageReference } from '../../domain/images/image-reference.ts';
import { pullFailure, registryOf } from '../../domain/images/pull-failure.ts';
import { NO_MIRRORS, nameAtMirror, type RegistryMirrors } from '../../domain/images/registry-mirrors.ts';
import type { Engine } from '../../engine/engine.ts';
import { isRefusal, orAbsent, Refusal } from '../../engine/refusal.ts';
import type { Builder, BuildOptions, BuildRequest, BuiltImage, StoredImage } from '../builder.ts';
import { readMessages } from '../engine/build-messages.ts';
import { BuildRefusal } from '../engine/build-plan.ts';
import { createEngineBuilder } from '../engine/engine-builder.ts';
import { lateBuild } from '../late-build.ts';
import { Registry } from './registry.ts';

export interface PushingBuilderOptions {
  engine: Engine;
  registry: BuildRegistry;
  installation: string;
  /** Mirrors of registries, which bases come from first. */
  mirrors?: RegistryMirrors;
  /** True while a workload uses the image. */
  isUsed(image: string): Promise<boolean>;
}

/** Until the engine answers; then it pulls as long as the build may take. */
const PULL_TIMEOUT_MS = 120_000;
/** Docker has no image without names but in its cache. */
const NO_NAME = '<none>:<none>';

/** The member used of `GET /images/{name}/json`: none for what was never pulled or pushed. */
interface BaseImage {
  RepoDigests?: string[] | null;
}

/** Members used of the engine's messages about a pull. */
interface PullMessage {
  id?: string;
  status?: string;
  progressDetail?: { total?: number };
}

interface PullOptions {
  auth?: { username: string; password: string };
  onProgress?: (line: string) => void;
  signal: AbortSignal;
}

/** Makes no request before the first call. */
export function createPushingBuilder(options: PushingBuilderOptions): Builder {
  return new PushingBuilder(options);
}

class PushingBuilder implements Builder {
  readonly name = 'pushed';
  readonly #options: PushingBuilderOptions;
  readonly #inner: Builder;
  readonly #registry: Registry;

  constructor(options: PushingBuilderOptions) {
    this.#options = options;
    this.#inner = createEngineBuilder(options);
    this.#registry = new Registry(options.registry);
  }

  async build(request: BuildRequest, options: BuildOptions): Promise<BuiltImage> {
    const { image } = request;
    const tag = buildTagOf(image, this.#options.installation)!;
    const startedAt = monotonicClock.now();
    /** References of earlier builds that were fetched. */
    const fetched = new Set<string>();
    const admitBase: BuildRequest['admitBase'] = async (base) => {
      await request.admitBase(base);
      if (!isBuildImage(base) || fetched.has(base)) return;
      fetched.add(base);
      await asStep(options, `Pull ${base}`, () => this.#pullBuilt(base, options.signal));
    };
    const prepareBase: BuildRequest['prepareBase'] = async (base, onProgress) => {
      if (!isBuildImage(base)) await this.#pullBase(base, request.registries, { onProgress, signal: options.signal });
    };
    try {
      const { sizeBytes } = await this.#inner.build({ ...request, admitBase, prepareBase }, options);
      options.onEvent({ kind: 'pushing' });
      const push = () => this.#push(image, tag, options, startedAt);
      return { image, digest: await asStep(options, `Push to ${this.#repository}`, push), sizeBytes };
    } finally {
      for (const name of [`${this.#repository}:${tag}`, image, ...fetched]) await this.#untag(name).catch(() => {}); // else tidy does
    }
  }

  async list(): Promise<StoredImage[]> {
    const stored: StoredImage[] = [];
    for (const tag of await this.#registry.tags()) {
      const image = imageOfBuildTag(tag, this.#options.installation);
      const manifest = image && (await this.#registry.manifest(tag));
      if (manifest) stored.push({ buildId: buildIdOf(image)!, image, sizeBytes: manifest.sizeBytes });
    }
    return stored;
  }

  /** An unchanged folder is the same image again, under another tag, which stays. */
  async remove(buildId: string): Promise<void> {
    const { installation, isUsed } = this.#options;
    const tags = await this.#registry.tags();
    const tag = tags.find((one) => buildIdOf(imageOfBuildTag(one, installation) ?? '') === buildId);
    if (tag === undefined) return;
    const image = imageOfBuildTag(tag, installation)!;
    if (await isUsed(image)) throw new Failure('conflict', `The image '${image}' is in use.`);
    const digests = new Map<string, string | undefined>();
    for (const one of tags) digests.set(one, (await this.#registry.manifest(one))?.digest);
    const digest = digests.get(tag);
    if (digest === undefined) return;
    const isShared = tags.some((one) => one !== tag && digests.get(one) === digest);
    if (await (isShared ? this.#registry.removeTag(tag) : this.#registry.remove(digest))) return;
    throw new Failure('conflict', `The registry does not delete '${image}'.`);
  }

  trimCache(maxBytes: number): Promise<number> {
    return this.#inner.trimCache(maxBytes);
  }

  /** Images that the engine still has were not pushed when their server ended. */
  async tidy(): Promise<void> {
    await this.#inner.tidy();
    const { engine, installation } = this.#options;
    const filters = { label: [`${BUILT_LABEL}=${installation}`] };
    const images = await engine.list<{ RepoTags: string[] | null }>('/images/json', { filters });
    for (const { RepoTags } of images) for (const name of RepoTags ?? []) if (name !== NO_NAME) await this.#untag(name);
  }

  async hindrance(): Promise<string | null> {
    return (await this.#inner.hindrance()) ?? (await this.#registry.hindrance());
  }

  /**
   * Nodes pull images of workloads, so the engine has only its own. Asks the registry each time: a local copy may come from a build whose
   * credentials this one lacks. Images that the operator built or loaded are bases for every build.
   */
  async #pullBase(
    image: string,
    registries: BuildRequest['registries'],
    { onProgress, signal }: { onProgress: (line: string) => void; signal: AbortSignal },
  ): Promise<void> {
    const { engine } = this.#options;
    const parsed = parseImageReference(image);
    const auth = 'fault' in parsed ? undefined : registries[parsed.registry];
    const isTagged = !('fault' in parsed) && (parsed.tag ?? parsed.digest) !== null;
    const present = await orAbsent(engine.json<BaseImage>({ method: 'GET', path: `/images/${image}/json` }));
    if (present && (present.RepoDigests ?? []).length === 0) return;
    const full = isTagged ? image : `${image}:latest`; // without a tag the engine pulls all
    if (!auth && (await this.#pullFromMirror(full, { onProgress, signal }))) return;
    try {
      await this.#pull(full, { ...(auth && { auth }), onProgress, signal });
    } catch (error) {
      if (signal.aborted || error instanceof Failure) throw error;
      throw pullFailure(image, error, auth);
    }
  }

  /** Resolves with false where nothing came of it. Both names go when the build ends. */
  async #pullFromMirror(full: string, { onProgress, signal }: PullOptions & { onProgress: (line: string) => void }) {
    const mirrored = nameAtMirror(full, this.#options.mirrors ?? NO_MIRRORS);
    if (mirrored === null) return false;
    const from = registryOf(mirrored);
    try {
      await this.#pull(mirrored, { onProgress, signal });
      if (digestIn(full) === null) await this.#name(mirrored, full);
      onProgress(`It came from the mirror ${from}`);
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      const registry = registryOf(full);
      onProgress(
        `The mirror of ${registry} failed, so ${registry} itself is asked: ${messageOf(pullFailure(mirrored, error, undefined))}`,
      );
      return false;
    }
  }

  async #pull(name: string, { auth, onProgress, signal }: PullOptions): Promise<void> {
    const answer = await this.#options.engine.stream({
      method: 'POST',
      path: '/images/create',
      query: { fromImage: name },
      ...(auth && { auth: { ...auth, serverAddress: registryOf(name) } }),
      timeoutMs: PULL_TIMEOUT_MS,
      signal,
    });
    // The last message says whether it failed.
    for await (const { id, status, progressDetail } of readMessages(answer) as AsyncIterable<PullMessage>)
      if (status && !progressDetail?.total) onProgress?.(id === undefined ? status : `${id}: ${status}`);
  }

  async #name(image: string, name: string): Promise<void> {
    const repo = repositoryOf(name);
    const query = { repo, tag: name.slice(repo.length + 1) };
    await this.#options.engine.json({ method: 'POST', path: `/images/${image}/tag`, query });
  }

  /** Gives the engine the image of an earlier build under its own name, for lines that begin with it or copy from it. */
  async #pullBuilt(image: string, signal: AbortSignal): Promise<void> {
    const { registry, installation } = this.#options;
    const tag = buildTagOf(image, installation)!;
    if ((await this.#registry.manifest(tag)) === null)
      throw new Failure('unprocessable', `the registry does not have the image '${image}' any more: build it again.`);
    const name = `${this.#repository}:${tag}`;
    try {
      await this.#pull(name, { ...(registry.auth && { auth: registry.auth }), signal });
      await this.#name(name, image);
    } catch (error) {
      if (signal.aborted || error instanceof Failure) throw error;
      throw new Failure(
        'unavailable',
        `The image '${image}' could not be pulled from ${this.#repository}: ${messageOf(error)}`,
      );
    } finally {
      await this.#untag(name).catch(() => {}); // else tidy does
    }
  }

  get #repository(): string {
    const { host, repository } = this.#options.registry;
    return `${host}/${repository}`;
  }

  /** Returns the digest that the registry gives the image. */
  async #push(image: string, tag: string, { signal, limits }: BuildOptions, startedAt: number): Promise<string> {
    const { engine, registry } = this.#options;
    const repo = this.#repository;
    const leftMs = Math.max(1, Math.ceil(limits.timeoutMs - (monotonicClock.now() - startedAt)));
    const ended = AbortSignal.any([signal, AbortSignal.timeout(leftMs)]);
    const { username, password } = registry.auth ?? { username: '', password: '' };
    try {
      await engine.json({ method: 'POST', path: `/images/${image}/tag`, query: { repo, tag } });
      const answer = await engine.stream({
        method: 'POST',
        path: `/images/${repo}/push`,
        query: { tag },
        auth: { username, password, serverAddress: registry.host },
        timeoutMs: leftMs,
        signal: ended,
      });
      for await (const _ of readMessages(answer)); // the last one says whether it failed
    } catch (error) {
      throw this.#explain(error, { signal, ended, limits });
    }
    const manifest = await this.#registry.manifest(tag);
    if (manifest) return manifest.digest;
    throw new Failure('unavailable', `The registry ${repo} does not have the image that was pushed there.`);
  }

  #explain(
    error: unknown,
    { signal, ended, limits }: Pick<BuildOptions, 'signal' | 'limits'> & { ended: AbortSignal },
  ) {
    if (signal.aborted) return new Failure('unprocessable', 'The build was cancelled.');
    if (ended.aborted) return lateBuild(limits.timeoutMs);
    if (error instanceof Failure) return error;
    if (error instanceof BuildRefusal || error instanceof Refusal)
      return new Failure('unavailable', `The image could not be pushed to ${this.#repository}: ${error.message}`);
    return new Failure('unavailable', 'The container engine went away while the image was pushed.', { cause: error });
  }

  async #untag(name: string): Promise<void> {
    try {
      await this.#options.engine.json({ method: 'DELETE', path: `/images/${name}` });
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
    }
  }
}

/** Does something as a step of the build's record. */
async function asStep<T>({ onEvent }: BuildOptions, name: string, work: () => Promise<T>): Promise<T> {
  const step = { kind: 'step', step: name, name } as const;
  onEvent({ ...step, state: 'RUNNING', at: new Date() });
  try {
    const done = await work();
    onEvent({ ...step, state: 'COMPLETED', at: new Date() });
    return done;
  } catch (error) {
    onEvent({ ...step, state: 'FAILED', at: new Date() });
    throw error;
  }
}
