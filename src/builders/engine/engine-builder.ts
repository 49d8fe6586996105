/**
 * Builds by a container engine: Docker's BuildKit, or Podman's Buildah. The engine keeps all state: an image's name has its build, a label
 * its installation. The label does not name the build, so that an unchanged folder becomes the same image.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure, messageOf } from '../../core/errors.ts';
import { BUILT_LABEL, buildIdOf } from '../../domain/builds/build-image.ts';
import { dockerfileOf } from '../../domain/builds/dockerfile-of.ts';
import { NO_MIRRORS, type RegistryMirrors } from '../../domain/images/registry-mirrors.ts';
import type { Engine } from '../../engine/engine.ts';
import { isRefusal, orAbsent, Refusal } from '../../engine/refusal.ts';
import type { Builder, BuildOptions, BuildRequest, BuiltImage, StoredImage } from '../builder.ts';
import { findDiskFault, RESERVE_BYTES } from '../free-disk.ts';
import { lateBuild } from '../late-build.ts';
import { buildFailure } from './build-failure.ts';
import { type BuildPlan, BuildRefusal } from './build-plan.ts';
import { BuildSession } from './build-session.ts';
import { BuildSteps } from './build-steps.ts';
import { killSteps, watchBuild } from './build-watch.ts';
import { buildWithBuildah } from './buildah.ts';
import { buildWithBuildKit } from './buildkit.ts';
import { type AddedFile, archiveFolder } from './context-archive.ts';
import { checkDockerfile } from './dockerfile-rules.ts';
import { PinnedBases, type PinnedDockerfile } from './pinned-bases.ts';
import { STEP_VARIABLE, stepHost } from './step-groups.ts';

export interface EngineBuilderOptions {
  engine: Engine;
  installation: string;
  /** Mirrors of registries: a base that comes from one has the mirror's name in the engine. */
  mirrors?: RegistryMirrors;
  /** Bytes that builds leave free on the disk of the engine, if it is on this machine. Default 2 GiB. */
  reserveBytes?: number;
}

/** Where a generated Dockerfile is put, beside the files of the kit. */
const GENERATED = '.podyard/Dockerfile';
const PRUNE_TIMEOUT_MS = 600_000;
const MAX_DOCKERFILE_BYTES = 2 ** 20;

/** The members used of `GET /images/json` and `GET /images/{name}/json`. */
interface EngineImage {
  Id: string;
  RepoTags: string[] | null;
  Size: number;
}

/** The member used of `GET /containers/json`. */
interface EngineContainer {
  ImageID: string;
}

/** The member used of `GET /info`. */
interface EngineInfo {
  DockerRootDir?: string;
}

/** The member used of `POST /build/prune`. */
interface PrunedCache {
  SpaceReclaimed?: number;
}

/** Makes no request to the engine before the first call. */
export function createEngineBuilder(options: EngineBuilderOptions): Builder {
  return new EngineBuilder(options);
}

class EngineBuilder implements Builder {
  readonly name = 'engine';
  readonly #engine: Engine;
  readonly #installation: string;
  readonly #reserveBytes: number;
  readonly #bases: PinnedBases;
  /** Where the engine keeps images. Asked once: it takes an engine longer than most questions. */
  #folder: string | undefined;
  /** The places of the builds that run. */
  readonly #running = new Set<number>();
  /** The names that are being removed. An engine that has begun to remove an image with its last name overlooks one that a build gives it meanwhile. */
  #untagging: Promise<unknown> = Promise.resolve();

  constructor({ engine, installation, mirrors = NO_MIRRORS, reserveBytes = RESERVE_BYTES }: EngineBuilderOptions) {
    this.#engine = engine;
    this.#installation = installation;
    this.#reserveBytes = reserveBytes;
    this.#bases = new PinnedBases(engine, installation, mirrors);
  }

  async build(request: BuildRequest, options: BuildOptions): Promise<BuiltImage> {
    const { limits, onEvent } = options;
    const ended = endedBy(options);
    let pinned: PinnedDockerfile | undefined;
    const shown = (text: string) =>
      [...(pinned?.shown ?? [])].reduce((known, [name, image]) => known.replaceAll(name, image), text);
    const steps = new BuildSteps(onEvent, shown);
    const session = new BuildSession(this.#engine, request);
    let dockerfile: Dockerfile | undefined;
    try {
      ended.signal.throwIfAborted();
      dockerfile = await readDockerfile(request);
      const { signal } = ended;
      pinned = await this.#pin(dockerfile, { request, steps, signal });
      const added = [...dockerfile.added, { path: dockerfile.path, text: pinned.text }];
      const plan = this.#plan(request, options, { ...dockerfile, added }, { steps, session, signal });
      const built = await this.#build(plan, ended.end);
      return accepted(built ?? (await this.#build(plan, ended.end)), request, options);
    } catch (error) {
      steps.end('FAILED', new Date());
      await this.#untag(request.image).catch(() => {}); // it may have been named before the failure; else list() shows it
      if (ended.signal.aborted) throw ended.signal.reason;
      const about = { request, limits, dockerfile: dockerfile?.shownAs ?? '', step: steps.failed };
      throw explain(error, (words) => buildFailure(shown(words), { ...about, missedSecrets: session.missedSecrets }));
    } finally {
      ended.stop();
      await pinned?.release().catch(() => {}); // tidy() removes what is left
    }
  }

  async list(): Promise<StoredImage[]> {
    const filters = { label: [`${BUILT_LABEL}=${this.#installation}`] };
    const images = await this.#engine.list<EngineImage>('/images/json', { filters });
    return images.flatMap(({ RepoTags, Size }) =>
      (RepoTags ?? []).flatMap((image) => {
        const buildId = buildIdOf(image);
        return buildId === null ? [] : [{ buildId, image, sizeBytes: Size }];
      }),
    );
  }

  async remove(buildId: string): Promise<void> {
    const found = (await this.list()).find((one) => one.buildId === buildId);
    if (!found) return;
    const { Id } = await this.#engine.json<EngineImage>({ method: 'GET', path: `/images/${found.image}/json` });
    const containers = await this.#engine.list<EngineContainer>('/containers/json', { all: true });
    const inUse = new Failure('conflict', `The image '${found.image}' is in use.`);
    if (containers.some(({ ImageID }) => bareId(ImageID) === bareId(Id))) throw inUse;
    await this.#untag(found.image).catch((error) => Promise.reject(isRefusal(error, 409) ? inUse : error));
  }

  /** Podman keeps steps as images, and does not know when they were used. */
  async trimCache(maxBytes: number): Promise<number> {
    if ((await this.#engine.kind()).builds !== 'buildkit') return 0;
    const bytes = String(maxBytes);
    const query = { all: '1', 'keep-storage': bytes, 'reserved-space': bytes, 'max-used-space': bytes }; // older and newer names
    const request = { method: 'POST', path: '/build/prune', query, timeoutMs: PRUNE_TIMEOUT_MS } as const;
    return (await this.#engine.json<PrunedCache>(request)).SpaceReclaimed ?? 0;
  }

  /** Images that were named since their process was killed are in `list`. */
  async tidy(): Promise<void> {
    if (this.#running.size > 0) return;
    await killSteps(stepHost(this.#installation));
    await this.#bases.tidy();
  }

  async hindrance(): Promise<string | null> {
    try {
      const { name, builds } = await this.#engine.kind();
      return builds === null ? tooOld(name) : null;
    } catch (error) {
      return sentence(messageOf(error));
    }
  }

  async #pin(
    { shownAs, text }: Dockerfile,
    parts: { request: BuildRequest; steps: BuildSteps; signal: AbortSignal },
  ): Promise<PinnedDockerfile> {
    const { platform } = await this.#engine.kind();
    const bases = await checkDockerfile(shownAs, text, { ...parts.request, platform });
    return this.#bases.pin({ dockerfile: shownAs, text, bases, ...parts });
  }

  #plan(
    request: BuildRequest,
    { limits }: BuildOptions,
    { path, added }: Dockerfile,
    parts: Pick<BuildPlan, 'steps' | 'session' | 'signal'>,
  ): BuildPlan {
    const archive = (more: readonly AddedFile[] = []) => archiveFolder(request.folder, [...added, ...more]);
    const hosts = [request.args[STEP_VARIABLE], stepHost(this.#installation, request.id)].filter(Boolean).join(',');
    const args = { ...request.args, [STEP_VARIABLE]: hosts };
    return {
      request,
      limits,
      dockerfile: path,
      labels: { [BUILT_LABEL]: this.#installation },
      args,
      archive,
      ...parts,
    };
  }

  /** The time and memory of the steps are bounded, and none outlives this call. */
  async #run(plan: BuildPlan, end: (why: Failure) => void): Promise<string> {
    const { name, builds } = await this.#engine.kind();
    if (builds === null) throw new Failure('unavailable', tooOld(name));
    const host = stepHost(this.#installation, plan.request.id);
    this.#folder ??= (await this.#engine.json<EngineInfo>({ method: 'GET', path: '/info' })).DockerRootDir;
    const disk = {
      folder: this.#folder ?? null,
      name: "The disk of the engine's machine",
      reserveBytes: this.#reserveBytes,
    };
    const full = await findDiskFault(disk);
    if (full !== null) throw full;
    let place = 0;
    while (this.#running.has(place)) place += 1;
    this.#running.add(place);
    const watched = { ...disk, host, limits: plan.limits, place, end };
    const stopWatching = await watchBuild(watched);
    try {
      return await this.#send(plan, builds);
    } catch (error) {
      await killSteps(host);
      throw error;
    } finally {
      await stopWatching();
      this.#running.delete(place);
    }
  }

  async #send(plan: BuildPlan, builds: 'buildkit' | 'buildah'): Promise<string> {
    let failed: unknown;
    const archive = (added?: readonly AddedFile[]) =>
      plan.archive(added).once('error', (error) => {
        failed = error;
      });
    try {
      return await (builds === 'buildkit' ? buildWithBuildKit : buildWithBuildah)(this.#engine, { ...plan, archive });
    } catch (error) {
      throw failed ?? error; // what is wrong with the folder, rather than that the connection was cut for it
    }
  }

  /** Resolves with the image; undefined if it went with the last name of an earlier build of the same content. */
  async #build(plan: BuildPlan, end: (why: Failure) => void): Promise<EngineImage | undefined> {
    const id = await this.#run(plan, end);
    await this.#untagging;
    return orAbsent(this.#engine.json<EngineImage>({ method: 'GET', path: `/images/${id}/json` }));
  }

  /** Removes the name, and the image with its last one. */
  async #untag(image: string): Promise<void> {
    const done = orAbsent(this.#engine.json({ method: 'DELETE', path: `/images/${image}` }));
    this.#untagging = Promise.allSettled([this.#untagging, done]).then(() => {});
    await done;
  }
}

function accepted(found: EngineImage | undefined, { image }: BuildRequest, { limits }: BuildOptions): BuiltImage {
  if (!found) throw new Failure('unavailable', 'The image was removed from the engine as soon as it was built.');
  const { Id, Size } = found;
  if (Size <= limits.maxImageBytes) return { image, digest: `sha256:${bareId(Id)}`, sizeBytes: Size };
  const [size, most] = [Size, limits.maxImageBytes].map((bytes) => `${Math.ceil(bytes / 1e6)} MB`);
  throw new Failure('unprocessable', `The image has ${size}, and may have ${most}.`);
}

interface Dockerfile {
  /** In the archive. */
  path: string;
  /** As users know it. */
  shownAs: string;
  text: string;
  added: readonly AddedFile[];
}

/** Reads the folder's own, or makes one of its recipe. */
async function readDockerfile({ folder, recipe }: BuildRequest): Promise<Dockerfile> {
  const { dockerfile: path } = recipe;
  if (path === null) {
    const text = dockerfileOf(recipe);
    return { path: GENERATED, shownAs: 'The generated Dockerfile', text, added: [] };
  }
  const bytes = await readFile(join(folder, path)).catch((cause) => {
    throw new Failure('unprocessable', `There is no Dockerfile at '${path}'.`, { cause });
  });
  if (bytes.length > MAX_DOCKERFILE_BYTES)
    throw new Failure('unprocessable', `'${path}' is longer than a Dockerfile may be.`);
  return { path, shownAs: path, text: bytes.toString(), added: [] };
}

/** A signal that the caller, or the time of a build, ends. Its reason is a Failure. */
function endedBy({ signal, limits }: BuildOptions) {
  const ended = new AbortController();
  const end = (why: Failure) => ended.abort(why);
  const cancel = () => ended.abort(new Failure('unprocessable', 'The build was cancelled.'));
  const timeOut = () => ended.abort(lateBuild(limits.timeoutMs));
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel);
  const timer = setTimeout(timeOut, limits.timeoutMs);
  const stop = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
  };
  return { signal: ended.signal, end, stop };
}

function explain(error: unknown, byWords: (words: string) => Failure): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof BuildRefusal || error instanceof Refusal) return byWords(error.message);
  return new Failure('unavailable', 'The container engine went away in the middle of the build.', { cause: error });
}

function tooOld(name: string): string {
  return `${name} is too old to build images: that takes Docker 19.03 or Podman 4.`;
}

/** Podman leaves the algorithm out in some places. */
function bareId(id: string): string {
  return id.replace(/^sha256:/, '');
}

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}
