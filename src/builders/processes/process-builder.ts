/**
 * Images of the process runtime: of each build there is a folder `<root>/<build id>` with
 *   files/       the folder with its dependencies, read-only
 *   image.json   the image's name, digest and command; written last, so that a folder without it is one of a killed build
 *   home/        HOME and caches of the steps, while they run
 * A folder never moves: virtual environments have absolute paths. Steps are not isolated from the machine, as little as workers are.
 */

import { constants } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { commandsOf } from '../../domain/builds/commands-of.ts';
import type { Builder, BuildOptions, BuildRequest, BuiltImage, StoredImage } from '../builder.ts';
import { type BuildDisk, findDiskFault, RESERVE_BYTES, saysDiskIsFull } from '../free-disk.ts';
import { lateBuild } from '../late-build.ts';
import { StepOutput } from '../step-output.ts';
import { findProgram } from './find-program.ts';
import { measureFolder, removeFolder, sealFolder } from './folder-content.ts';
import { runStep } from './run-step.ts';

export interface ProcessBuilderOptions {
  /** The folder of images of an installation, in the data directory. */
  root: string;
  /** PATH and the like; steps inherit nothing else. */
  env: Readonly<Record<string, string>>;
  /** Kills every process with this value of the variable `marker.variable`, and what they have started. */
  marker: { variable: string; kill(value: string): void };
  /** True while a workload uses the image. */
  isUsed(image: string): Promise<boolean>;
  /** Bytes that builds leave free on the disk of the images. Default 2 GiB. */
  reserveBytes?: number;
}

/** How often the folder of a running build is measured, and how often the room that is left. */
const MEASURE_MS = 5_000;
const LOOK_MS = 200;
const DISK = 'The disk of the server';
const BUILD_ID = /^[a-z][a-z0-9]*$/;

export function createProcessBuilder(options: ProcessBuilderOptions): Builder {
  return new ProcessBuilder(options);
}

class ProcessBuilder implements Builder {
  readonly name = 'processes';
  readonly #options: ProcessBuilderOptions;

  constructor(options: ProcessBuilderOptions) {
    this.#options = options;
  }

  async build(request: BuildRequest, options: BuildOptions): Promise<BuiltImage> {
    const { recipe, id, secrets } = request;
    options.signal.throwIfAborted();
    if (recipe.language === 'dockerfile') {
      const text = 'A Dockerfile needs a container engine, and this server runs workers as processes';
      throw new Failure('unprocessable', `${text}: install Docker or Podman, or deploy without the Dockerfile.`);
    }
    const missing = recipe.secretIds.find((secretId) => !Object.hasOwn(secrets, secretId));
    if (missing !== undefined)
      throw new Failure('unprocessable', `The build has no secret '${missing}', which a step needs.`);
    const { root, reserveBytes = RESERVE_BYTES } = this.#options;
    await mkdir(root, { recursive: true, mode: 0o700 });
    const disk = { folder: root, name: DISK, reserveBytes };
    const full = await findDiskFault(disk);
    if (full !== null) throw full;
    const limit = new BuildLimit(options, this.#folderOf(id), disk);
    try {
      return await this.#make(request, options, limit.signal);
    } catch (error) {
      this.#kill(id);
      await removeFolder(this.#folderOf(id));
      throw limit.signal.aborted ? limit.signal.reason : explain(error);
    } finally {
      limit.end();
    }
  }

  async list(): Promise<StoredImage[]> {
    const names = await readdir(this.#options.root).catch(() => []);
    const images = await Promise.all(names.map((buildId) => this.#read(buildId)));
    return images.flatMap((image, i) =>
      image ? [{ buildId: names[i]!, image: image.image, sizeBytes: image.sizeBytes }] : [],
    );
  }

  async remove(buildId: string): Promise<void> {
    const image = await this.#read(buildId);
    if (image && (await this.#options.isUsed(image.image))) {
      throw new Failure('conflict', `The image '${image.image}' is in use.`);
    }
    if (BUILD_ID.test(buildId)) await removeFolder(this.#folderOf(buildId));
  }

  /** Caches of installers go with the build. */
  async trimCache(): Promise<number> {
    return 0;
  }

  async tidy(): Promise<void> {
    for (const buildId of await readdir(this.#options.root).catch(() => [])) {
      if (await this.#read(buildId)) continue;
      this.#kill(buildId);
      await removeFolder(this.#folderOf(buildId));
    }
  }

  async hindrance(): Promise<string | null> {
    return null;
  }

  #folderOf(buildId: string): string {
    return join(this.#options.root, buildId);
  }

  #kill(buildId: string): void {
    this.#options.marker.kill(`build-${buildId}`);
  }

  /** Returns a finished image. */
  async #read(buildId: string): Promise<BuiltImage | null> {
    const text = await readFile(join(this.#folderOf(buildId), 'image.json'), 'utf8').catch(() => null);
    return text === null ? null : (JSON.parse(text) as BuiltImage);
  }

  async #make(request: BuildRequest, options: BuildOptions, signal: AbortSignal): Promise<BuiltImage> {
    const { id, image, recipe } = request;
    const folder = this.#folderOf(id);
    const files = join(folder, 'files');
    await removeFolder(folder); // a server that was killed had made the image, and not recorded it
    await mkdir(join(folder, 'home'), { recursive: true, mode: 0o700 });
    await cp(request.folder, files, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
    const hasUv = findProgram('uv', this.#options.env.PATH) !== undefined;
    const { steps, serve } = commandsOf(recipe, { hasUv });
    warn(request, options);
    for (const [i, step] of steps.entries()) await this.#run(request, { ...step, step: String(i) }, options, signal);
    await removeFolder(join(folder, 'home'));
    signal.throwIfAborted();
    const { digest, sizeBytes } = await sealFolder(files, JSON.stringify(serve));
    checkSize(sizeBytes, options);
    const built: BuiltImage = { image, digest, sizeBytes };
    const record = join(folder, 'image.json');
    await writeFile(`${record}.new`, JSON.stringify({ ...built, command: serve }));
    signal.throwIfAborted();
    await rename(`${record}.new`, record);
    return built;
  }

  async #run(
    { id, secrets }: BuildRequest,
    { step, name, command, secretIds }: { step: string; name: string; command: string[]; secretIds: string[] },
    { onEvent }: BuildOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const { env, marker } = this.#options;
    const program = command[0]!;
    const files = join(this.#folderOf(id), 'files');
    onEvent({ kind: 'step', step, name, state: 'RUNNING', at: new Date() });
    const output = new StepOutput((line) => onEvent({ kind: 'line', step, ...line }));
    const home = join(this.#folderOf(id), 'home');
    const given = Object.fromEntries(secretIds.map((secretId) => [secretId, secrets[secretId]!]));
    const own = { HOME: home, TMPDIR: home, XDG_CACHE_HOME: join(home, '.cache'), CI: 'true' };
    const killAll = () => this.#kill(id);
    try {
      if (!program.includes('/') && findProgram(program, env.PATH) === undefined) {
        throw new Failure('unprocessable', `'${program}' is not installed on the server's machine: ${name} needs it.`);
      }
      const stepEnv = { ...env, ...own, ...given, [marker.variable]: `build-${id}` };
      const wanted = { command, folder: files, env: stepEnv, killAll };
      const end = await runStep(wanted, output, signal);
      if (end !== 0 && output.lastLines.some(saysDiskIsFull))
        throw new Failure('unavailable', `${DISK} is full, in step '${name}'.`);
      if (end !== 0) throw new Failure('unprocessable', failureText(name, end, output.lastLines));
      onEvent({ kind: 'step', step, name, state: 'COMPLETED', at: new Date() });
    } catch (error) {
      onEvent({ kind: 'step', step, name, state: 'FAILED', at: new Date() });
      throw error;
    }
  }
}

/** Aborts a build that is cancelled, takes too long, gets too large or leaves too little room, each with its own reason. */
class BuildLimit {
  readonly #abort = new AbortController();
  readonly #timers: NodeJS.Timeout[];
  readonly #given: AbortSignal;
  readonly #onGiven = () => this.#abort.abort(this.#given.reason);

  constructor(options: BuildOptions, folder: string, disk: BuildDisk) {
    const { limits, signal } = options;
    this.#given = signal;
    signal.addEventListener('abort', this.#onGiven);
    const measure = async () => {
      try {
        checkSize(await measureFolder(folder), options);
      } catch (error) {
        this.#abort.abort(error);
      }
    };
    const look = async () => {
      const full = await findDiskFault(disk);
      if (full !== null) this.#abort.abort(full);
    };
    this.#timers = [
      setTimeout(() => this.#abort.abort(lateBuild(limits.timeoutMs)), limits.timeoutMs),
      setInterval(measure, MEASURE_MS),
      setInterval(look, LOOK_MS),
    ];
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#given.removeEventListener('abort', this.#onGiven);
  }
}

function checkSize(bytes: number, { limits }: BuildOptions): void {
  if (bytes <= limits.maxImageBytes) return;
  const [size, most] = [bytes, limits.maxImageBytes].map((each) => `${Math.ceil(each / 1e6)} MB`);
  throw new Failure('unprocessable', `The image has ${size}, and may have ${most}.`);
}

/** Warns of parts of a recipe that only an engine's image can have. */
function warn({ recipe: { systemPackages, base } }: BuildRequest, { onEvent }: BuildOptions): void {
  const say = (text: string) => onEvent({ kind: 'line', step: null, stream: 'system', text, at: new Date() });
  if (systemPackages.length > 0) {
    say(`Without a container engine, the machine itself must have these packages: ${systemPackages.join(', ')}`);
  }
  if (base !== null) say(`Without a container engine, the base image ${base} is not used`);
}

function failureText(name: string, end: number | NodeJS.Signals, lastLines: readonly string[]): string {
  const how = typeof end === 'number' ? `failed with exit code ${end}` : `was ended by ${end}`;
  const last = lastLines.length > 0 ? ` Its last lines:\n${lastLines.join('\n')}` : '';
  return `Step '${name}' ${how}.${last}`;
}

function explain(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new Failure('unavailable', `${DISK} is full: the image could not be written.`, { cause: error });
}
