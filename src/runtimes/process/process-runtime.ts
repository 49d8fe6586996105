/**
 * Workloads as child processes, for development where no container engine answers. Nothing is isolated and no limit is
 * enforced, and it says so. Each workload has a folder `<stateDir>/<installation>/<id>`; that folder, not this process, is
 * the record: its exit code and output are written by a shell of its own, so they survive a restart of Podyard.
 *   workload.json  what it is (never its environment, which holds secrets)
 *   process        pid and start time of its shell, the leader of its group
 *   output.log     what it printed, with output.log.index
 *   exit           its exit code, once it ended
 *   work/          its working directory, with links to the image's files
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  type FSWatcher,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { Failure, notFound } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { parseArgs } from '../args.ts';
import { type DescribePool, describePool, gpuCapacity, idleGpus, requireGpus } from '../gpu-pools.ts';
import { InFlight } from '../in-flight.ts';
import { parsePort } from '../ports.ts';
import type {
  Capacity,
  GpuCapacity,
  LogLine,
  LogsOptions,
  Mount,
  Observed,
  ObservedState,
  OnEvent,
  PublishedPort,
  Runtime,
  StartOptions,
  Whereabouts,
  WorkloadSpec,
  WorkloadStats,
} from '../runtime.ts';
import { GroupListeners } from './group-listeners.ts';
import { readGroupUsage } from './group-usage.ts';
import { findExecutable, findImage } from './images-file.ts';
import { linkMounts, mountEnv, unlinkMounts } from './mount-links.ts';
import { OutputLog } from './output-log.ts';
import {
  bootId,
  type GroupId,
  groupMemoryBytes,
  groupState,
  identify,
  killOrphans,
  MARKER,
  signalGroup,
  waitForState,
} from './process-group.ts';

export interface ProcessRuntimeOptions {
  stateDir: string;
  /** Files that map image names to commands; see images-file.ts. */
  imagesFiles: readonly string[];
  installation: string;
  /** Simulated: pool → number of GPUs. */
  gpus: ReadonlyMap<string, number>;
  describePool?: DescribePool;
  logger: Logger;
  /** Where PATH, HOME, LANG and TMPDIR of workloads come from; nothing else of it reaches them. */
  hostEnv: Readonly<Record<string, string>>;
  maxLogBytes?: number;
}

/** The record in workload.json. */
interface Workload {
  id: string;
  kind: WorkloadSpec['kind'];
  image: string;
  gpu: WorkloadSpec['gpu'];
  ports: readonly string[];
  mounts: readonly Mount[];
  bootId: string;
}

/**
 * Runs the command of a workload. `$1` is its folder. It notes who it is before the command starts, so that a crash of
 * Podyard at that moment leaves nothing unknown; the trap keeps it alive while the command ends after SIGTERM; at last
 * it takes with it whatever the command left behind, as the end of a container does.
 */
const SHELL = `
trap : TERM INT HUP
folder=$1; shift
identify() { read -r line 2>/dev/null </proc/$$/stat && set -- $line && echo "$$ \${22}" >"$folder/process"; }
identify
"$@"
echo $? >"$folder/exit"
kill -KILL 0
`;

const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const LOOPBACK = '127.0.0.1';
const KILL_TIMEOUT_MS = 10_000;
const START_TIMEOUT_MS = 5000;
const DEFAULT_MAX_LOG_BYTES = 10 * 2 ** 20;

export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  return new ProcessRuntime(options);
}

class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly capabilities;
  readonly #options: ProcessRuntimeOptions;
  readonly #root: string;
  readonly #hostEnv: Record<string, string>;
  readonly #starts = new InFlight<Whereabouts>();
  /** What this process follows; the folders are the truth. */
  readonly #followed = new Map<string, { log: OutputLog; watcher: FSWatcher | undefined }>();
  readonly #onEvents = new Set<OnEvent>();
  readonly #listeners = new GroupListeners();

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.#root = join(resolve(options.stateDir), options.installation);
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    this.#hostEnv = options.hostEnv;
    // `node` in a command means the one that runs Podyard: the machine's own may be too old.
    this.#hostEnv.PATH = [dirname(process.execPath), this.#hostEnv.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(
      delimiter,
    );
    this.capabilities = {
      gpu: options.gpus.size > 0,
      freeze: 'freezer' as const,
      volumes: true,
      logs: true,
      isolation: false,
    };
  }

  workerApiAddress() {
    return Promise.resolve({ bind: '127.0.0.1', host: '127.0.0.1' });
  }

  async capacity(): Promise<Capacity> {
    return { gpus: this.#gpus(), memoryBytes: totalmem(), cpus: availableParallelism() };
  }

  async prepare(image: string): Promise<void> {
    findImage(this.#options.imagesFiles, image);
  }

  start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    return this.#starts.run(spec.id, async () => {
      const before = this.#load(spec.id);
      if (before) {
        if (!this.#isOver(spec.id)) return this.#whereabouts(before);
        this.#remove(spec.id);
      }
      const command = this.#commandOf(spec);
      const tell = options.onProgress ?? (() => {});
      requireGpus(spec.gpu, this.#gpus()); // no pause from here until the folder is there, so that nobody else takes them
      try {
        this.#makeFolder(spec, command.directory);
        linkMounts(spec.mounts, join(this.#folder(spec.id), 'work'), tell);
        options.onCreated?.();
        await this.#spawn(spec, command.words);
      } catch (error) {
        this.#remove(spec.id);
        throw error;
      }
      tell('Process started');
      this.#emit(spec.id);
      return this.#whereabouts(this.#load(spec.id)!);
    });
  }

  async reach(id: string, port: number): Promise<{ host: string; port: number } | null> {
    const workload = this.#load(id);
    const group = workload && this.#groupOf(workload);
    return group ? this.#listeners.find(group, port) : null;
  }

  async stats(id: string): Promise<WorkloadStats | null> {
    const workload = this.#load(id);
    const group = workload && this.#groupOf(workload);
    const usage = group && (await readGroupUsage(group));
    return usage ? { ...usage, gpus: idleGpus(workload.gpu) } : null;
  }

  async memoryBytes(id: string): Promise<number> {
    const workload = this.#load(id);
    if (!workload) throw notFound('Workload');
    const group = this.#groupOf(workload);
    return group ? groupMemoryBytes(group) : 0;
  }

  async freeze(id: string): Promise<void> {
    await this.#signalAndWait(id, 'SIGSTOP', 'stopped');
  }

  async thaw(id: string): Promise<void> {
    await this.#signalAndWait(id, 'SIGCONT', 'running');
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#starts.settled(id);
    const workload = this.#load(id);
    if (!workload) return;
    const group = this.#groupOf(workload);
    if (group) await this.#end(group, id, graceMs);
    this.#remove(id);
    this.#emit(id);
  }

  async list(): Promise<Observed[]> {
    return this.#ids().flatMap((id) => {
      const workload = this.#load(id);
      return workload ? [this.#observe(workload)] : [];
    });
  }

  async *logs(id: string, options: LogsOptions): AsyncGenerator<LogLine> {
    if (!this.#load(id)) throw notFound('Workload');
    yield* this.#follow(id).log.read(options, () => this.#isOver(id));
  }

  watch(onEvent: OnEvent): () => void {
    this.#onEvents.add(onEvent);
    for (const id of this.#ids()) this.#follow(id);
    return () => this.#onEvents.delete(onEvent);
  }

  async close(): Promise<void> {
    for (const id of [...this.#followed.keys()]) this.#unfollow(id);
    this.#onEvents.clear();
  }

  #gpus(): GpuCapacity[] {
    const held = this.#ids().flatMap((id) => (this.#isOver(id) ? [] : [this.#load(id)?.gpu ?? null]));
    return gpuCapacity(this.#options.gpus, held, this.#options.describePool ?? describePool);
  }

  #commandOf(spec: WorkloadSpec): { words: string[]; directory: string } {
    const image = findImage(this.#options.imagesFiles, spec.image);
    const { entrypoint, cmd } = parseArgs(spec.args);
    const words = [...(entrypoint ?? image.command), ...(cmd ?? [])];
    const path = spec.env.PATH ?? this.#hostEnv.PATH!;
    const executable = words[0] && findExecutable(words[0], image.directory, path);
    if (!executable) {
      throw new Failure(
        'unprocessable',
        `The command '${words[0] ?? ''}' of image '${spec.image}' is not on this machine`,
      );
    }
    return { words: [executable, ...words.slice(1)], directory: image.directory };
  }

  /** Relative paths in a command work as in a container, while what the workload writes stays in a folder of its own. */
  #makeFolder(spec: WorkloadSpec, directory: string): void {
    const work = join(this.#folder(spec.id), 'work');
    mkdirSync(work, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(directory)) symlinkSync(join(directory, name), join(work, name));
    const { id, kind, image, gpu, ports, mounts } = spec;
    const workload: Workload = { id, kind, image, gpu, ports, mounts, bootId: bootId() };
    writeFileSync(join(this.#folder(id), 'workload.json'), JSON.stringify(workload));
  }

  async #spawn(spec: WorkloadSpec, words: string[]): Promise<void> {
    const folder = this.#folder(spec.id);
    const output = openSync(join(folder, 'output.log'), 'a', 0o600);
    try {
      const child = spawn('/bin/sh', ['-c', SHELL, 'podyard', folder, ...words], {
        cwd: join(folder, 'work'),
        env: { ...this.#hostEnv, ...spec.env, ...mountEnv(spec), [MARKER]: this.#marker(spec.id) },
        detached: true, // a session and a process group of its own
        stdio: ['ignore', output, output],
      });
      await new Promise((done, fail) => child.once('spawn', done).once('error', fail));
      const group = identify(child.pid!);
      if (group) writeFileSync(join(folder, 'process'), `${group.pid} ${group.startedAt}\n`);
      child.once('exit', () => this.#emit(spec.id));
      child.unref();
    } finally {
      closeSync(output);
    }
    this.#follow(spec.id);
  }

  /** TERM first and CONT after it: a frozen workload wakes up with the wish to end before it. */
  async #end(group: GroupId, id: string, graceMs: number): Promise<void> {
    signalGroup(group, 'SIGTERM');
    signalGroup(group, 'SIGCONT');
    if (!(await waitForState(group, ['gone'], graceMs))) {
      signalGroup(group, 'SIGKILL');
      if (!(await waitForState(group, ['gone'], KILL_TIMEOUT_MS))) {
        throw new Failure('unavailable', `Workload ${id} did not end within ${KILL_TIMEOUT_MS / 1000} s of SIGKILL`);
      }
    }
    if (this.#exitCode(id) === undefined) killOrphans(group, this.#marker(id));
  }

  async #signalAndWait(id: string, signal: NodeJS.Signals, state: 'stopped' | 'running'): Promise<void> {
    const workload = this.#load(id);
    if (!workload) throw notFound('Workload');
    const group = this.#groupOf(workload);
    const hasEnded = () => !group || this.#stateOf(workload) === 'exited';
    if (!hasEnded() && signalGroup(group!, signal)) await waitForState(group!, [state, 'gone'], 1000);
    if (hasEnded()) throw new Failure('conflict', `Workload ${id} has ended`);
    this.#emit(id);
  }

  #observe(workload: Workload): Observed {
    const { id, kind } = workload;
    this.#follow(id);
    const state = this.#stateOf(workload);
    const isOver = state === 'exited';
    const exitCode = isOver ? (this.#exitCode(id) ?? null) : null;
    return {
      id,
      kind,
      state,
      ...(state === 'running' || state === 'frozen'
        ? this.#whereabouts(workload)
        : { address: null, publishedPorts: [] }),
      exitCode,
      reason: isOver && exitCode === null ? 'It was killed from outside, or the machine restarted' : null,
      startedAt: this.#timeOf(id, 'workload.json'),
      finishedAt: isOver ? (this.#timeOf(id, 'exit') ?? this.#timeOf(id, 'output.log')) : null,
    };
  }

  /** All ports are this machine's own. */
  #whereabouts({ ports }: Workload): Whereabouts {
    const publishedPorts = ports.map((item): PublishedPort => {
      const port = parsePort(item);
      return { ...port, public: port.private, ip: LOOPBACK };
    });
    return { address: LOOPBACK, publishedPorts };
  }

  #stateOf(workload: Workload): ObservedState {
    if (this.#exitCode(workload.id) !== undefined) return 'exited';
    const group = this.#groupOf(workload);
    if (!group) return this.#isFresh(workload.id) ? 'created' : 'exited';
    return ({ running: 'running', stopped: 'frozen', gone: 'exited' } as const)[groupState(group)];
  }

  #isOver(id: string): boolean {
    const workload = this.#load(id);
    return !workload || this.#stateOf(workload) === 'exited';
  }

  /** Between its folder and its process lie milliseconds; a folder that stays without one is from a start that was cut off. */
  #isFresh(id: string): boolean {
    const madeAt = this.#timeOf(id, 'workload.json');
    return madeAt !== null && Date.now() - madeAt.getTime() < START_TIMEOUT_MS;
  }

  #groupOf(workload: Workload): GroupId | undefined {
    const [pid, startedAt] = this.#read(workload.id, 'process').trim().split(/ (.*)/);
    if (!pid || !startedAt || workload.bootId !== bootId()) return undefined;
    return { pid: Number(pid), startedAt };
  }

  #exitCode(id: string): number | undefined {
    const text = this.#read(id, 'exit').trim();
    return text === '' ? undefined : Number(text);
  }

  #load(id: string): Workload | undefined {
    const text = this.#read(id, 'workload.json');
    return text === '' ? undefined : ({ ports: [], mounts: [], ...JSON.parse(text) } as Workload); // older ones have neither
  }

  #read(id: string, file: string): string {
    const path = join(this.#folder(id), file);
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  }

  #timeOf(id: string, file: string): Date | null {
    return statSync(join(this.#folder(id), file), { throwIfNoEntry: false })?.mtime ?? null;
  }

  #ids(): string[] {
    return readdirSync(this.#root).filter((name) => FOLDER_NAME.test(name));
  }

  #folder(id: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(id))
      throw new Failure('badRequest', `'${id}' cannot be the id of a workload`);
    return join(this.#root, id);
  }

  #marker(id: string): string {
    return `${this.#options.installation}/${id}`;
  }

  #follow(id: string): { log: OutputLog; watcher: FSWatcher | undefined } {
    const followed = this.#followed.get(id);
    if (followed) return followed;
    const folder = this.#folder(id);
    const log = new OutputLog(join(folder, 'output.log'), this.#options.maxLogBytes ?? DEFAULT_MAX_LOG_BYTES);
    const entry = { log, watcher: this.#watchFolder(folder, id, log) };
    this.#followed.set(id, entry);
    return entry;
  }

  /** Hears of output and, for workloads of former times, of the end. Without it (a limit of the system), readers look each second. */
  #watchFolder(folder: string, id: string, log: OutputLog): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: false }, (_, file) => {
        if (file === 'output.log') log.changed();
        else if (file === 'exit') this.#emit(id);
      });
      watcher.on('error', () => watcher.close());
      return watcher;
    } catch (error) {
      this.#options.logger.warn({ workloadId: id, err: error }, 'the folder of a workload cannot be watched');
      return undefined;
    }
  }

  #unfollow(id: string): void {
    const followed = this.#followed.get(id);
    this.#followed.delete(id);
    followed?.watcher?.close();
    followed?.log.close();
  }

  #remove(id: string): void {
    this.#unfollow(id);
    const mounts = this.#load(id)?.mounts ?? [];
    rmSync(this.#folder(id), { recursive: true, force: true, maxRetries: 3 });
    const held = this.#ids().flatMap((other) => this.#load(other)?.mounts ?? []);
    unlinkMounts(mounts, held);
  }

  #emit(id: string): void {
    this.#followed.get(id)?.log.note();
    for (const onEvent of this.#onEvents) onEvent(id);
  }
}
