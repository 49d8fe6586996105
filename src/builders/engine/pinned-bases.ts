/**
 * The images that a Dockerfile begins with, as they are before the build. An image may have triggers (ONBUILD), which the engine runs like
 * lines of the Dockerfile: they are read beforehand, and the image cannot become another one in between. Docker's BuildKit looks for a
 * base by name alone, so an image gets a name of ours; the same for the same image, because the Dockerfile is one of the files that steps
 * compare with their cache. Buildah takes ids.
 */
import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure } from '../../core/errors.ts';
import { BASE_HOST } from '../../domain/builds/build-image.ts';
import { nameAtMirror, type RegistryMirrors } from '../../domain/images/registry-mirrors.ts';
import type { Engine } from '../../engine/engine.ts';
import { isRefusal, orAbsent } from '../../engine/refusal.ts';
import type { BuildRequest } from '../builder.ts';
import type { BuildSteps } from './build-steps.ts';
import { type BaseLine, checkTriggers } from './dockerfile-rules.ts';
import { readTriggers } from './read-triggers.ts';

const MAX_KNOWN = 1000;

/** The members used of `GET /images/{name}/json`. */
interface BaseImage {
  Id: string;
  RepoTags: string[] | null;
  Config?: { OnBuild?: string[] | null } | null;
}

interface PinnedOptions {
  /** Shown in sentences. */
  dockerfile: string;
  text: string;
  bases: readonly BaseLine[];
  request: BuildRequest;
  steps: BuildSteps;
  signal: AbortSignal;
}

export interface PinnedDockerfile {
  text: string;
  /** The image that each of our names stands for. */
  shown: ReadonlyMap<string, string>;
  /** Call after the build. Removes what was only there for it. */
  release(): Promise<void>;
}

export class PinnedBases {
  readonly #engine: Engine;
  readonly #mirrors: RegistryMirrors;
  /** The repository of our names. */
  readonly #repository: string;
  /** By name, how many builds use it. */
  readonly #used = new Map<string, number>();
  /** Those that could not be removed: the engine was away. */
  readonly #left = new Set<string>();

  /** By id, which is the hash of the image's configuration. */
  readonly #triggers = new BoundedMap<string, readonly string[]>(MAX_KNOWN);

  constructor(engine: Engine, installation: string, mirrors: RegistryMirrors) {
    this.#engine = engine;
    this.#mirrors = mirrors;
    this.#repository = `${BASE_HOST}/${installation}`;
  }

  /** Returns a Dockerfile with the same lines, whose images are fixed. Throws `unprocessable` for one that it may not begin with. */
  async pin({ dockerfile, text, bases, request, steps, signal }: PinnedOptions): Promise<PinnedDockerfile> {
    const { builds, platform } = await this.#engine.kind();
    for (const name of this.#left) if (!this.#used.has(name)) await this.#forget(name);
    const lines = text.split('\n');
    const shown = new Map<string, string>();
    const held: string[] = [];
    const pulled: string[] = [];
    const release = async () => {
      for (const name of held) await this.#drop(name);
      for (const image of pulled) await this.#remove(image);
    };
    try {
      for (const base of bases) {
        signal.throwIfAborted();
        const mirrored = nameAtMirror(base.image, this.#mirrors);
        if ((await this.#find(base.image)) === undefined) pulled.push(base.image, ...(mirrored ? [mirrored] : []));
        await this.#prepare(base, { dockerfile, request, steps });
        const image = (await this.#find(base.image)) ?? (mirrored ? await this.#find(mirrored) : undefined);
        if (image === undefined) throw new Failure('unavailable', `The image '${base.image}' is gone again.`);
        const id = image.Id.replace(/^sha256:/, '');
        const triggers = builds === 'buildah' ? await this.#readTriggers(id, signal) : (image.Config?.OnBuild ?? []);
        await checkTriggers(dockerfile, base, triggers, { ...request, platform });
        const reference = builds === 'buildah' ? id : `${this.#repository}:${id}`;
        if (builds !== 'buildah') held.push(await this.#hold(reference, image.Id));
        shown.set(reference, base.image);
        lines[base.line - 1] = base.replaced(reference);
      }
    } catch (error) {
      await release();
      throw error;
    }
    return { text: lines.join('\n'), shown, release };
  }

  /** Removes the names of ours that killed processes have left. Call while nothing is built. */
  async tidy(): Promise<void> {
    const filters = { reference: [`${this.#repository}:*`] };
    const images = await this.#engine.list<BaseImage>('/images/json', { filters });
    const names = images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((name) => name.startsWith(this.#repository));
    for (const name of names) await this.#remove(name);
  }

  async #readTriggers(id: string, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#triggers.get(id);
    if (known) return known;
    const triggers = await readTriggers(this.#engine, id, signal);
    this.#triggers.set(id, triggers);
    return triggers;
  }

  /** A pull is a step of the build. */
  async #prepare(
    { line, image }: BaseLine,
    { dockerfile, request, steps }: Pick<PinnedOptions, 'dockerfile' | 'request' | 'steps'>,
  ): Promise<void> {
    const step = `pull ${image}`;
    let isShown = false;
    const onProgress = (text: string) => {
      const at = new Date();
      if (!isShown) steps.report(step, `Pull ${image}`, 'RUNNING', at);
      isShown = true;
      steps.print(step, 'stdout', Buffer.from(`${text}\n`), at);
    };
    const end = (state: 'COMPLETED' | 'FAILED') => isShown && steps.report(step, `Pull ${image}`, state, new Date());
    try {
      await request.prepareBase(image, onProgress);
      end('COMPLETED');
    } catch (error) {
      end('FAILED');
      if (!(error instanceof Failure) || error.kind === 'unavailable') throw error;
      throw new Failure('unprocessable', `${dockerfile}, line ${line}: ${error.message}`, { cause: error.cause });
    }
  }

  async #hold(name: string, id: string): Promise<string> {
    this.#used.set(name, (this.#used.get(name) ?? 0) + 1);
    const [repo, tag] = [this.#repository, name.slice(this.#repository.length + 1)];
    await this.#engine.json({ method: 'POST', path: `/images/${id}/tag`, query: { repo, tag } });
    return name;
  }

  async #drop(name: string): Promise<void> {
    const others = (this.#used.get(name) ?? 1) - 1;
    if (others > 0) return void this.#used.set(name, others);
    this.#used.delete(name);
    await this.#forget(name);
  }

  async #forget(name: string): Promise<void> {
    this.#left.add(name);
    await this.#remove(name).then(
      () => this.#left.delete(name),
      () => {},
    );
  }

  /** Removes a name. The image stays if it has another one, or something uses it. */
  async #remove(name: string): Promise<void> {
    try {
      await this.#engine.json({ method: 'DELETE', path: `/images/${name}` });
    } catch (error) {
      if (!isRefusal(error, 404) && !isRefusal(error, 409)) throw error;
    }
  }

  #find(image: string): Promise<BaseImage | undefined> {
    return orAbsent(this.#engine.json<BaseImage>({ method: 'GET', path: `/images/${image}/json` }));
  }
}
