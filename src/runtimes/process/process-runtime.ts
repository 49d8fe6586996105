/**
 * Workloads as child processes, for development without a container engine. Nothing is isolated and no limit is enforced.
 * Each workload has a folder `<stateDir>/<installation>/<id>`, and the folder is the record: a shell of the workload's own
 * writes its exit code and output there, so they survive a restart of Podyard.
 */
import { availableParallelism, totalmem } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { Failure, notFound } from '../../core/errors.ts';
import { InFlight } from '../../core/flow/in-flight.ts';
import type { Logger } from '../../core/logger.ts';
import type { ImageIdentity } from '../../domain/images/image-identity.ts';
import { directoryBytes } from '../directories/directory-bytes.ts';
import { type ExecRequest, type Execution, notRunning } from '../execution.ts';
import { GpuLending, NO_REAL_GPUS } from '../gpu-lending.ts';
import { type DescribePool, describePool, idleGpus } from '../gpu-pools.ts';
import type { Gpu } from '../gpus/gpu.ts';
import { GpuInventory } from '../gpus/gpu-inventory.ts';
import { readGpuUsage } from '../gpus/gpu-usage.ts';
import { LOOPBACK_GROUPS } from '../loopback-groups.ts';
import type {
  Capacity,
  DiskMeter,
  LogLine,
  LogsOptions,
  Observed,
  OnEvent,
  PrepareOptions,
  PublishedPort,
  Runtime,
  StartOptions,
  Whereabouts,
  WorkloadSpec,
  WorkloadStats,
} from '../runtime.ts';
import { parseArgs, parsePort } from '../workload-spec.ts';
import { FollowedFolders } from './followed-folders.ts';
import { GroupListeners } from './group-listeners.ts';
import { findExecutable } from './images-file.ts';
import { ProcessGpus } from './process-gpus.ts';
import {
  endGroup,
  groupMemoryBytes,
  killOrphans,
  MARKER,
  membersOf,
  readGroupUsage,
  signalGroup,
  waitForState,
} from './process-group.ts';
import { ProcessImages } from './process-images.ts';
import { runInWorkload } from './run-in-workload.ts';
import { spawnWorkload } from './spawn-workload.ts';
import { mountEnv, type Workload, WorkloadFolders } from './workload-folders.ts';

export interface ProcessRuntimeOptions {
  stateDir: string;
  /** Files that map image names to commands; see images-file.ts. */
  imagesFiles: readonly string[];
  /** The folder of what builds made, which has one for each installation. Absent: nothing was built. */
  builtImages?: string;
  installation: string;
  /** Simulated: pool → number of GPUs. Else the real ones. */
  gpus: ReadonlyMap<string, number> | GpuInventory;
  describePool?: DescribePool;
  logger: Logger;
  /** PATH, HOME and the like for workloads; they inherit nothing else of the host. */
  hostEnv: Readonly<Record<string, string>>;
  maxLogBytes?: number;
}

const LOOPBACK = '127.0.0.1';
const DEFAULT_MAX_LOG_BYTES = 10 * 2 ** 20;

export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  return new ProcessRuntime(options);
}

class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly capabilities;
  readonly gpuSleep: GpuLending;
  readonly groups = LOOPBACK_GROUPS;
  readonly disks: DiskMeter = { usedBytes: (id) => directoryBytes(this.#folders.pathOf(id)) };
  readonly evictions = null;
  readonly #options: ProcessRuntimeOptions;
  readonly #hostEnv: Readonly<Record<string, string>>;
  readonly #path: string;
  readonly #folders: WorkloadFolders;
  readonly #images: ProcessImages;
  readonly #gpus: ProcessGpus;
  readonly #followed: FollowedFolders;
  readonly #starts = new InFlight<Whereabouts>();
  readonly #onEvents = new Set<OnEvent>();
  readonly #listeners = new GroupListeners();

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    // `node` in a command means the one that runs Podyard: the machine's own may be too old.
    const hostPath = options.hostEnv.PATH ?? '/usr/local/bin:/usr/bin:/bin';
    this.#path = [dirname(process.execPath), hostPath].join(delimiter);
    this.#hostEnv = { ...options.hostEnv, PATH: this.#path };
    const root = join(resolve(options.stateDir), options.installation);
    this.#folders = new WorkloadFolders(root);
    void this.#folders.sweep().catch((err) => options.logger.warn({ err }, 'what removed workloads left stays'));
    this.#images = new ProcessImages(
      options.imagesFiles,
      join(resolve(options.builtImages ?? root), options.installation),
      root,
    );
    this.#followed = new FollowedFolders({
      folders: this.#folders,
      maxLogBytes: options.maxLogBytes ?? DEFAULT_MAX_LOG_BYTES,
      onEnd: (id) => this.#emit(id),
      logger: options.logger,
    });
    this.gpuSleep = new GpuLending({
      devicesOf: async () => this.#gpus.devicesOf(),
      pidsOf: async (id) => this.#pidsOf(id),
      sharesOf: (uuid) => this.#gpus.sharesOf(uuid),
      simulated: options.gpus instanceof GpuInventory ? null : NO_REAL_GPUS,
    });
    this.#gpus = new ProcessGpus(this.#folders, options.gpus, options.describePool ?? describePool, this.gpuSleep);
    this.capabilities = {
      gpu: options.gpus instanceof GpuInventory || options.gpus.size > 0,
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
    const gpus = await this.#gpus.capacity();
    return { ...gpus, memoryBytes: totalmem(), cpus: availableParallelism() };
  }

  async admitImage(): Promise<void> {}

  prepare(image: string, options: PrepareOptions = {}): Promise<ImageIdentity | null> {
    return this.#images.prepare(image, options);
  }

  async keepImages(references: readonly string[]): Promise<void> {
    const used = this.#folders.ids().flatMap((id) => this.#folders.find(id)?.image ?? []);
    await this.#images.keep([...references, ...used]);
  }

  start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    const { id } = spec;
    return this.#starts.run(id, async () => {
      await this.#gpus.ready();
      const before = this.#folders.find(id);
      if (before) {
        if (!this.#folders.isOver(id)) return whereaboutsOf(before);
        await this.#remove(id);
      }
      const command = this.#commandOf(spec);
      const report = options.onProgress ?? (() => {});
      const gpus = this.#gpus.claim(spec.gpu); // nothing async until the folder exists, or another start could take them
      try {
        const uuids = gpus.map(({ uuid }) => uuid);
        this.#folders.make(spec, uuids, command.directory, report);
        options.onCreated?.();
        await this.#spawn(spec, gpus, command.words);
      } catch (error) {
        this.#gpus.suspect(gpus);
        await this.#remove(id);
        throw error;
      }
      report('Process started');
      this.#emit(id);
      return whereaboutsOf(spec);
    });
  }

  async reach(id: string, port: number): Promise<{ host: string; port: number } | null> {
    const workload = this.#folders.find(id);
    const group = workload && this.#folders.groupOf(workload);
    return group ? this.#listeners.find(group, port) : null;
  }

  async stats(id: string): Promise<WorkloadStats | null> {
    const workload = this.#folders.find(id);
    const group = workload && this.#folders.groupOf(workload);
    const usage = group && (await readGroupUsage(group));
    if (!usage) return null;
    const { gpu, gpuDevices } = workload;
    return { ...usage, gpus: gpuDevices.length > 0 ? await readGpuUsage(gpuDevices) : idleGpus(gpu) };
  }

  async memoryBytes(id: string): Promise<number> {
    const group = this.#folders.groupOf(this.#get(id));
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
    const workload = this.#folders.find(id);
    if (!workload) return;
    const group = this.#folders.groupOf(workload);
    if (group) await endGroup(group, graceMs);
    killOrphans(this.#marker(id));
    await this.#remove(id);
    this.gpuSleep.forget(id);
    this.#emit(id);
  }

  async list(): Promise<Observed[]> {
    this.#gpus.refresh();
    return this.#folders.ids().flatMap((id) => {
      const workload = this.#folders.find(id);
      return workload ? [this.#observe(workload)] : [];
    });
  }

  async *logs(id: string, options: LogsOptions): AsyncGenerator<LogLine> {
    this.#get(id);
    yield* this.#followed.follow(id).read(options, () => this.#folders.isOver(id));
  }

  async exec(id: string, request: ExecRequest): Promise<Execution> {
    const workload = this.#get(id);
    const group = this.#folders.groupOf(workload);
    const state = this.#folders.stateOf(workload);
    if (!group || state !== 'running') throw notRunning(state);
    return runInWorkload(join(this.#folders.pathOf(id), 'work'), group, request);
  }

  async lastOutput(id: string, count: number): Promise<string[]> {
    return this.#folders.find(id) ? this.#followed.follow(id).last(count) : [];
  }

  watch(onEvent: OnEvent): () => void {
    this.#onEvents.add(onEvent);
    for (const id of this.#folders.ids()) this.#followed.follow(id);
    return () => this.#onEvents.delete(onEvent);
  }

  async close(): Promise<void> {
    this.#followed.close();
    this.#onEvents.clear();
  }

  #get(id: string): Workload {
    const workload = this.#folders.find(id);
    if (!workload) throw notFound('Workload');
    return workload;
  }

  #pidsOf(id: string): number[] {
    const group = this.#folders.groupOf(this.#get(id));
    return group ? membersOf(group) : [];
  }

  #commandOf(spec: WorkloadSpec): { words: string[]; directory: string } {
    const image = this.#images.find(spec.image);
    const { entrypoint, cmd } = parseArgs(spec.args);
    const words = [...(entrypoint ?? image.command), ...(cmd ?? [])];
    const executable = words[0] && findExecutable(words[0], image.directory, spec.env.PATH ?? this.#path);
    if (!executable) {
      const name = words[0] ?? '';
      throw new Failure('unprocessable', `Command '${name}' of image '${spec.image}' not found on this machine`);
    }
    return { words: [executable, ...words.slice(1)], directory: image.directory };
  }

  async #spawn(spec: WorkloadSpec, gpus: readonly Gpu[], words: readonly string[]): Promise<void> {
    const own = { ...mountEnv(spec), ...this.#gpus.environment(gpus), [MARKER]: this.#marker(spec.id) };
    const env = { ...spec.imageDefaults, ...this.#hostEnv, ...spec.env, ...own };
    const child = await spawnWorkload(this.#folders.pathOf(spec.id), words, env);
    child.once('exit', () => {
      const workload = this.#folders.find(spec.id);
      const isLatest = workload && this.#folders.groupOf(workload)?.pid === child.pid; // else another start has the id
      if (isLatest) killOrphans(this.#marker(spec.id));
      this.#emit(spec.id);
    });
    this.#followed.follow(spec.id);
  }

  async #signalAndWait(id: string, signal: NodeJS.Signals, state: 'stopped' | 'running'): Promise<void> {
    const workload = this.#get(id);
    const group = this.#folders.groupOf(workload);
    const hasEnded = () => !group || this.#folders.stateOf(workload) === 'exited';
    if (!hasEnded() && signalGroup(group!, signal)) await waitForState(group!, [state, 'gone'], 1000);
    if (hasEnded()) throw new Failure('conflict', `Workload ${id} has ended`);
    this.#emit(id);
  }

  #observe(workload: Workload): Observed {
    const { id, kind } = workload;
    this.#followed.follow(id);
    const state = this.#folders.stateOf(workload);
    const isOver = state === 'exited';
    const isThere = state === 'running' || state === 'frozen';
    const exitCode = isOver ? (this.#folders.exitCodeOf(id) ?? null) : null;
    return {
      id,
      kind,
      state,
      ...(isThere ? whereaboutsOf(workload) : { address: null, publishedPorts: [] }),
      exitCode,
      reason: isOver && exitCode === null ? 'Killed from outside, or the machine restarted' : null,
      startedAt: this.#folders.startedAt(id),
      finishedAt: isOver ? this.#folders.finishedAt(id) : null,
      ...(isThere && this.#gpus.lossOf(workload)),
    };
  }

  #marker(id: string): string {
    return `${this.#options.installation}/${id}`;
  }

  #remove(id: string): Promise<void> {
    this.#followed.unfollow(id);
    return this.#folders.remove(id);
  }

  #emit(id: string): void {
    this.#followed.refresh(id);
    for (const onEvent of this.#onEvents) onEvent(id);
  }
}

/**
 * TCP ports are on this machine's loopback address, under their own number. So are HTTP ports, where their programs listen:
 * nothing can keep them from this machine's other programs, but they count as published nowhere, as with other runtimes.
 */
function whereaboutsOf({ ports }: Pick<WorkloadSpec, 'ports'>): Whereabouts {
  const publishedPorts = ports.map((item): PublishedPort => {
    const port = parsePort(item);
    return port.type === 'tcp' ? { ...port, public: port.private, ip: LOOPBACK } : { ...port, public: null, ip: null };
  });
  return { address: LOOPBACK, publishedPorts };
}
