/**
 * A runtime without processes: workloads are entries of a world whose clock and scripts a test controls. The rest of
 * Podyard sees shortage, slow pulls, slow starts and crashes as it would anywhere else.
 */
import { createHash } from 'node:crypto';
import { Failure, notFound } from '../../core/errors.ts';
import { InFlight } from '../../core/flow/in-flight.ts';
import { type ImageIdentity, identityIn } from '../../domain/images/image-identity.ts';
import { NO_REAL_GPUS } from '../gpu-lending.ts';
import { type DescribePool, describePool, idleGpus, notEnoughGpus } from '../gpu-pools.ts';
import { LOOPBACK_GROUPS } from '../loopback-groups.ts';
import {
  type Capacity,
  type GpuCapacity,
  type GpuSleep,
  type LogLine,
  type LogsOptions,
  NoCapacity,
  type Observed,
  type OnEvent,
  type PrepareOptions,
  type Runtime,
  type StartOptions,
  type WantedGpus,
  type Whereabouts,
  type WorkloadSpec,
  type WorkloadStats,
} from '../runtime.ts';
import { type SimulatedPool, SimulatedWorkload, SimulatedWorld } from './simulated-world.ts';
import { pass } from './timer-clock.ts';

export interface SimulatedRuntimeOptions {
  installation: string;
  /** Share it between runtimes to simulate a restart, or other installations on the same machines. Default: its own. */
  world?: SimulatedWorld;
  /** Pool → number of GPUs, for a runtime with its own world. */
  gpus?: ReadonlyMap<string, number>;
  describePool?: DescribePool;
}

export function createSimulatedRuntime(options: SimulatedRuntimeOptions): Runtime {
  const describe = options.describePool ?? describePool;
  const world = options.world ?? new OwnWorld(options.gpus ?? new Map(), describe);
  return new SimulatedRuntime(world, options.installation);
}

/** A world whose pools follow the current inventory. */
class OwnWorld extends SimulatedWorld {
  readonly #inventory: ReadonlyMap<string, number>;
  readonly #describe: DescribePool;

  constructor(inventory: ReadonlyMap<string, number>, describe: DescribePool) {
    super();
    this.#inventory = inventory;
    this.#describe = describe;
  }

  override gpus(): GpuCapacity[] {
    this.pools = [...this.#inventory].map(([pool, total]) => ({ pool, total, ...this.#describe(pool) }));
    return super.gpus();
  }
}

class SimulatedRuntime implements Runtime {
  readonly name = 'simulated';
  readonly capabilities = { gpu: true, freeze: 'freezer' as const, volumes: true, logs: true, isolation: true };
  readonly groups = LOOPBACK_GROUPS;
  readonly disks = null;
  readonly evictions = null;
  readonly gpuSleep: GpuSleep = {
    release: async (id) => this.#getRunning(id).lendGpus(),
    claim: async (id) => (this.#getRunning(id).reclaimGpus() ? [] : this.#sharersOf(id)),
    checkpointHindrance: async () => NO_REAL_GPUS,
    gpuMemoryBytes: async () => 0,
    suspend: async () => {},
    resume: async () => {},
  };
  readonly #world: SimulatedWorld;
  readonly #installation: string;
  readonly #starts = new InFlight<Whereabouts>();
  readonly #listeners = new Set<OnEvent>();

  constructor(world: SimulatedWorld, installation: string) {
    this.#world = world;
    this.#installation = installation;
  }

  async workerApiAddress() {
    return { bind: '127.0.0.1', host: '127.0.0.1' };
  }

  async capacity(): Promise<Capacity> {
    return { gpus: this.#world.gpus(), memoryBytes: this.#world.memoryBytes, cpus: this.#world.cpus };
  }

  async admitImage(): Promise<void> {}

  async prepare(image: string, options: PrepareOptions = {}): Promise<ImageIdentity | null> {
    const content = this.#world.contents.get(image) ?? image;
    const named = identityIn(image, `sha256:${createHash('sha256').update(content).digest('hex')}`);
    const identity = options.resolve ? named : (options.pinned ?? named);
    const wanted = options.pinned && !options.resolve ? identity.reference : image;
    if (!this.#world.images.has(wanted)) {
      options.onProgress?.(`Pulling image ${image}`);
      const answer = this.#world.pull(wanted, options.auth);
      if ('failure' in answer) throw new Failure('unprocessable', answer.failure);
      await pass(this.#world.clock, answer.ms);
      this.#world.images.add(wanted);
      options.onProgress?.(`Pulled image ${image}`);
    }
    this.#world.images.add(identity.reference);
    return identity;
  }

  start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    return this.#starts.run(spec.id, async () => {
      const key = this.#keyOf(spec.id);
      const before = this.#world.workloads.get(key);
      if (before?.ended === null) return before.whereabouts();
      if (!this.#world.images.has(spec.image)) {
        throw new Failure('unavailable', `Image '${spec.image}' is not present on this machine`);
      }
      this.#world.workloads.delete(key);
      const place = this.#choosePlace(spec);
      const workload = new SimulatedWorkload(this.#world, this.#installation, spec, place, this.#emit);
      this.#world.workloads.set(key, workload);
      options.onCreated?.();
      await pass(this.#world.clock, workload.behaviour.startMs);
      if (workload.behaviour.startFailure !== null) {
        this.#world.workloads.delete(key);
        this.#world.hold(workload.place, -(spec.gpu?.count ?? 0));
        throw new Failure('unprocessable', workload.behaviour.startFailure);
      }
      workload.begin();
      return workload.whereabouts();
    });
  }

  /** Addresses are made up: nothing listens, and a real machine may have them. */
  async reach(): Promise<null> {
    return null;
  }

  async stats(id: string): Promise<WorkloadStats | null> {
    const workload = this.#world.workloads.get(this.#keyOf(id));
    if (!workload || workload.startedAt === null || workload.ended !== null) return null;
    return { cpuUtil: 0, memoryUtil: 0, gpus: idleGpus(workload.spec.gpu) };
  }

  async memoryBytes(id: string): Promise<number> {
    return this.#getRunning(id).behaviour.memoryBytes;
  }

  async freeze(id: string): Promise<void> {
    this.#getRunning(id).freeze();
  }

  async thaw(id: string): Promise<void> {
    this.#getRunning(id).thaw();
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#starts.settled(id);
    const key = this.#keyOf(id);
    const workload = this.#world.workloads.get(key);
    if (!workload) return;
    if (workload.ended === null) {
      workload.thaw();
      await pass(this.#world.clock, Math.min(graceMs, workload.behaviour.endAfterTermMs ?? graceMs));
      workload.end(workload.behaviour.endAfterTermMs === null ? 137 : 0, null);
    }
    if (this.#world.workloads.get(key) === workload) this.#world.workloads.delete(key);
    this.#emit(id);
  }

  async list(): Promise<Observed[]> {
    const own = [...this.#world.workloads.values()].filter(({ installation }) => installation === this.#installation);
    return own.map((workload) => workload.observe());
  }

  async *logs(id: string, options: LogsOptions): AsyncGenerator<LogLine> {
    const workload = this.#world.workloads.get(this.#keyOf(id));
    if (!workload) throw notFound('Workload');
    if (workload.isSilent) return;
    const sinceMs = options.since?.getTime() ?? Number.NEGATIVE_INFINITY;
    let seen = options.seen ?? Number.POSITIVE_INFINITY;
    for (let n = 0; ; n++) {
      const next = workload.behaviour.lines(n);
      if (!(await this.#waitForLine(workload, next?.atMs, options))) return;
      const ts = new Date(workload.clockOf(next!.atMs));
      if (ts.getTime() < sinceMs || (ts.getTime() === sinceMs && seen-- > 0)) continue;
      yield { ts, line: next!.line };
      if (options.signal.aborted) return;
    }
  }

  async lastOutput(id: string, count: number): Promise<string[]> {
    if (!this.#world.workloads.has(this.#keyOf(id))) return [];
    const lines: string[] = [];
    const signal = new AbortController().signal;
    for await (const { line } of this.logs(id, { follow: false, signal })) lines.push(line);
    return lines.slice(-count);
  }

  async exec(id: string): Promise<never> {
    this.#getRunning(id);
    throw new Failure('conflict', 'The runtime is simulated: no program runs in it');
  }

  watch(onEvent: OnEvent): () => void {
    this.#listeners.add(onEvent);
    return () => this.#listeners.delete(onEvent);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  /** Resolves with true once the line is printed, with false when it never will be, or the reader does not follow. */
  async #waitForLine(workload: SimulatedWorkload, atMs: number | undefined, options: LogsOptions): Promise<boolean> {
    for (;;) {
      if (atMs !== undefined && workload.startedAt !== null && workload.runMs() >= atMs) return true;
      if (workload.ended !== null || !options.follow || options.signal.aborted) return false;
      await workload.nextChange(atMs, options.signal);
    }
  }

  #choosePlace({ gpu, dataCenterId: wanted }: WorkloadSpec): SimulatedPool | null {
    if (gpu === null) return null;
    const isThere = ({ dataCenterId }: GpuCapacity) => wanted === null || dataCenterId === wanted;
    const places = this.#world.gpus().filter((one) => isWanted(gpu, one) && isThere(one));
    const place = places.find(({ free }) => free >= gpu.count);
    if (!place) throw new NoCapacity(notEnoughGpus(gpu, Math.max(0, ...places.map(({ free }) => free))));
    return place;
  }

  /** Returns the workloads that hold GPUs where this one has lent its own. */
  #sharersOf(id: string): string[] {
    const { place } = this.#getRunning(id);
    const others = [...this.#world.workloads.values()].filter((one) => one.place === place && one.spec.id !== id);
    return others.flatMap(({ spec, ended, hasLentGpus }) => (ended !== null || hasLentGpus ? [] : [spec.id]));
  }

  #getRunning(id: string): SimulatedWorkload {
    const workload = this.#world.workloads.get(this.#keyOf(id));
    if (!workload) throw notFound('Workload');
    if (workload.ended !== null) throw new Failure('conflict', `Workload ${id} has ended`);
    return workload;
  }

  #keyOf(id: string): string {
    return `${this.#installation}/${id}`;
  }

  /** One function for all workloads. */
  readonly #emit = (id: string): void => {
    for (const listener of this.#listeners) listener(id);
  };
}

function isWanted(wanted: WantedGpus, { pool, gpuTypeId, cudaVersion }: GpuCapacity): boolean {
  const { gpuTypeId: type = gpuTypeId, cudaVersion: version = cudaVersion } = wanted;
  return pool === wanted.pool && gpuTypeId === type && cudaVersion === version;
}
