/**
 * A runtime without a single process: workloads are entries of a world whose clock and scripts a test sets. Shortage,
 * slow pulls, slow starts and crashes are as real to the rest of Podyard as anywhere else.
 */
import { Failure, notFound } from '../../core/errors.ts';
import { type DescribePool, describePool, idleGpus } from '../gpu-pools.ts';
import { InFlight } from '../in-flight.ts';
import { parsePort } from '../ports.ts';
import {
  type Capacity,
  type GpuCapacity,
  type LogLine,
  type LogsOptions,
  NoCapacity,
  type Observed,
  type OnEvent,
  type OnProgress,
  type RegistryAuth,
  type Runtime,
  type StartOptions,
  type Whereabouts,
  type WorkloadSpec,
  type WorkloadStats,
} from '../runtime.ts';
import { pass, realTimerClock, type TimerClock } from './timer-clock.ts';

/** What a workload does. Times count only while it is not frozen. */
export interface Behaviour {
  startMs: number;
  /** A sentence: the start fails with it, after `startMs`. */
  startFailure: string | null;
  /** Null: it runs until it is stopped. */
  exitAfterMs: number | null;
  exitCode: number;
  reason: string | null;
  memoryBytes: number;
  /** From SIGTERM to its end. Null: SIGTERM does nothing. */
  endAfterTermMs: number | null;
  /** The n-th line, from 0, and when it is printed, in run time; undefined after the last. Times ascend. */
  lines: (n: number) => { atMs: number; line: string } | undefined;
}

export interface SimulatedPool {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
}

export interface SimulatedWorldOptions {
  clock?: TimerClock;
  pools?: readonly SimulatedPool[];
  memoryBytes?: number;
  cpus?: number;
  /** What deviates from a workload that starts at once, prints nothing and runs until it is stopped. */
  behave?: (spec: WorkloadSpec) => Partial<Behaviour>;
  /** How long an image takes to pull, or the sentence why it cannot be had. Default: every image at once. */
  pull?: (image: string, auth: RegistryAuth | undefined) => { ms: number } | { failure: string };
}

const QUIET: Behaviour = {
  startMs: 0,
  startFailure: null,
  exitAfterMs: null,
  exitCode: 0,
  reason: null,
  memoryBytes: 0,
  endAfterTermMs: 0,
  lines: () => undefined,
};

/** What outlives a runtime: the simulated machines, their images and workloads. */
export class SimulatedWorld {
  readonly clock: TimerClock;
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly behave: (spec: WorkloadSpec) => Partial<Behaviour>;
  readonly pull: NonNullable<SimulatedWorldOptions['pull']>;
  readonly images = new Set<string>();
  readonly workloads = new Map<string, SimulatedWorkload>();
  /** May be changed at any time: capacity that comes and goes. What runs keeps what it has. */
  pools: readonly SimulatedPool[];
  readonly #held = new Map<string, number>();
  #addresses = 0;

  constructor(options: SimulatedWorldOptions = {}) {
    this.clock = options.clock ?? realTimerClock;
    this.pools = options.pools ?? [];
    this.memoryBytes = options.memoryBytes ?? 2 ** 40;
    this.cpus = options.cpus ?? 256;
    this.behave = options.behave ?? (() => ({}));
    this.pull = options.pull ?? (() => ({ ms: 0 }));
  }

  gpus(): GpuCapacity[] {
    return this.pools.map((pool) => ({
      ...pool,
      free: Math.max(0, pool.total - (this.#held.get(placeKey(pool)) ?? 0)),
    }));
  }

  /** Counted, not added up: with thousands of workloads each start would look at all of them. */
  hold(place: SimulatedPool | null, gpus: number): void {
    if (place) this.#held.set(placeKey(place), (this.#held.get(placeKey(place)) ?? 0) + gpus);
  }

  nextAddress(): string {
    this.#addresses += 1;
    return `10.${(this.#addresses >> 16) & 255}.${(this.#addresses >> 8) & 255}.${this.#addresses & 255}`;
  }
}

function placeKey({ pool, dataCenterId, gpuTypeId }: SimulatedPool): string {
  return `${pool}/${dataCenterId}/${gpuTypeId}`;
}

class SimulatedWorkload {
  /** What is still asked for after the start: there may be many thousands of them. */
  readonly spec: Pick<WorkloadSpec, 'id' | 'kind' | 'gpu' | 'ports'>;
  readonly installation: string;
  readonly behaviour: Behaviour;
  readonly place: SimulatedPool | null;
  readonly address: string;
  readonly #world: SimulatedWorld;
  readonly #clock: TimerClock;
  readonly #listeners = new Set<() => void>();
  startedAt: number | null = null;
  frozenAt: number | null = null;
  ended: { at: number; exitCode: number; reason: string | null } | null = null;
  /** Freezes that are over: at which run time, and for how long. */
  readonly #freezes: { atMs: number; forMs: number }[] = [];
  #cancelExit = () => {};
  #observed: Observed | undefined;

  constructor(world: SimulatedWorld, installation: string, spec: WorkloadSpec, place: SimulatedPool | null) {
    this.#world = world;
    this.#clock = world.clock;
    this.spec = { id: spec.id, kind: spec.kind, gpu: spec.gpu, ports: spec.ports };
    this.installation = installation;
    this.place = place;
    this.behaviour = { ...QUIET, ...world.behave(spec) };
    this.address = world.nextAddress();
    world.hold(place, spec.gpu?.count ?? 0);
  }

  /** Run time in ms: since the start, without the time frozen; it stands still after the end. */
  runMs(): number {
    if (this.startedAt === null) return 0;
    const until = this.ended?.at ?? this.frozenAt ?? this.#clock.now();
    return until - this.startedAt - this.#freezes.reduce((sum, { forMs }) => sum + forMs, 0);
  }

  /** When a moment of run time, not later than now, was on the clock. */
  clockOf(runMs: number): number {
    const before = this.#freezes.filter(({ atMs }) => atMs < runMs);
    return this.startedAt! + runMs + before.reduce((sum, { forMs }) => sum + forMs, 0);
  }

  /** The same object until something changes: a list of thousands is to cost nothing. */
  observe(): Observed {
    this.#observed ??= observe(this);
    return this.#observed;
  }

  begin(): void {
    this.#observed = undefined;
    this.startedAt = this.#clock.now();
    this.#scheduleExit();
  }

  freeze(): void {
    if (this.frozenAt !== null) return;
    this.#cancelExit();
    this.frozenAt = this.#clock.now();
    this.changed();
  }

  thaw(): void {
    if (this.frozenAt === null) return;
    this.#freezes.push({ atMs: this.runMs(), forMs: this.#clock.now() - this.frozenAt });
    this.frozenAt = null;
    this.#scheduleExit();
    this.changed();
  }

  end(exitCode: number, reason: string | null): void {
    if (this.ended !== null) return;
    this.#cancelExit();
    this.#world.hold(this.place, -(this.spec.gpu?.count ?? 0));
    this.ended = { at: this.#clock.now(), exitCode, reason };
    this.changed();
  }

  changed(): void {
    this.#observed = undefined;
    for (const listener of [...this.#listeners]) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #scheduleExit(): void {
    const { exitAfterMs, exitCode, reason } = this.behaviour;
    if (exitAfterMs === null) return;
    this.#cancelExit = this.#clock.after(exitAfterMs - this.runMs(), () => this.end(exitCode, reason));
  }
}

export interface SimulatedRuntimeOptions {
  installation: string;
  /** Share it between runtimes to simulate a restart, or other installations on the same machines. Default: one of its own. */
  world?: SimulatedWorld;
  /** Pools of a world of its own: pool → number of GPUs. */
  gpus?: ReadonlyMap<string, number>;
  describePool?: DescribePool;
}

export function createSimulatedRuntime(options: SimulatedRuntimeOptions): Runtime {
  const describe = options.describePool ?? describePool;
  const world = options.world ?? new OwnWorld(options.gpus ?? new Map(), describe);
  return new SimulatedRuntime(world, options.installation);
}

/** Its pools are what the inventory says at the moment, as with the other runtimes. */
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

  async prepare(image: string, options: { auth?: RegistryAuth; onProgress?: OnProgress } = {}): Promise<void> {
    if (this.#world.images.has(image)) return;
    options.onProgress?.(`Pulling image ${image}`);
    const answer = this.#world.pull(image, options.auth);
    if ('failure' in answer) throw new Failure('unprocessable', answer.failure);
    await pass(this.#world.clock, answer.ms);
    this.#world.images.add(image);
    options.onProgress?.(`Pulled image ${image}`);
  }

  start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    return this.#starts.run(spec.id, async () => {
      const key = this.#keyOf(spec.id);
      const before = this.#world.workloads.get(key);
      if (before?.ended === null) return whereabouts(before);
      if (!this.#world.images.has(spec.image)) {
        throw new Failure('unavailable', `Image '${spec.image}' is not present on this machine`);
      }
      this.#world.workloads.delete(key);
      const workload = new SimulatedWorkload(this.#world, this.#installation, spec, this.#choosePlace(spec));
      this.#world.workloads.set(key, workload);
      this.#emitChangesOf(workload);
      options.onCreated?.();
      await pass(this.#world.clock, workload.behaviour.startMs);
      if (workload.behaviour.startFailure !== null) {
        this.#world.workloads.delete(key);
        this.#world.hold(workload.place, -(spec.gpu?.count ?? 0));
        throw new Failure('unprocessable', workload.behaviour.startFailure);
      }
      workload.begin();
      this.#emit(spec.id);
      return whereabouts(workload);
    });
  }

  /** Its addresses are made up: nothing listens, and a real machine may have them. */
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
    if (workload.behaviour.lines === QUIET.lines) return; // nothing to wait for, and thousands may be followed
    const sinceMs = options.since?.getTime() ?? Number.NEGATIVE_INFINITY;
    let seen = options.seen ?? Number.POSITIVE_INFINITY;
    for (let n = 0; ; n++) {
      const next = workload.behaviour.lines(n);
      if (!(await this.#isPrinted(workload, next?.atMs, options))) return;
      const ts = new Date(workload.clockOf(next!.atMs));
      if (ts.getTime() < sinceMs || (ts.getTime() === sinceMs && seen-- > 0)) continue;
      yield { ts, line: next!.line };
      if (options.signal.aborted) return;
    }
  }

  watch(onEvent: OnEvent): () => void {
    this.#listeners.add(onEvent);
    return () => this.#listeners.delete(onEvent);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  /** Waits for a line to be printed; false when that does not happen any more, or the reader does not want to wait. */
  async #isPrinted(workload: SimulatedWorkload, atMs: number | undefined, options: LogsOptions): Promise<boolean> {
    for (;;) {
      if (atMs !== undefined && workload.startedAt !== null && workload.runMs() >= atMs) return true;
      if (workload.ended !== null || !options.follow || options.signal.aborted) return false;
      await nextChange(this.#world.clock, workload, atMs, options.signal);
    }
  }

  /** Apart from `start`, so that what is kept does not keep the whole spec. */
  #emitChangesOf(workload: SimulatedWorkload): void {
    workload.onChange(() => this.#emit(workload.spec.id));
  }

  #choosePlace({ gpu, dataCenterId: wanted }: WorkloadSpec): SimulatedPool | null {
    if (gpu === null) return null;
    const isThere = ({ dataCenterId }: GpuCapacity) => wanted === null || dataCenterId === wanted;
    const place = this.#world.gpus().find((one) => one.pool === gpu.pool && one.free >= gpu.count && isThere(one));
    if (!place) throw new NoCapacity(`Pool ${gpu.pool} has no ${gpu.count} GPUs free together`);
    return place;
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

  #emit(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }
}

function nextChange(
  clock: TimerClock,
  workload: SimulatedWorkload,
  atMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const isRunning = workload.startedAt !== null && workload.frozenAt === null;
    const cancel = atMs !== undefined && isRunning ? clock.after(atMs - workload.runMs(), () => done()) : () => {};
    const forget = workload.onChange(() => done());
    const done = () => {
      cancel();
      forget();
      signal.removeEventListener('abort', done);
      resolve();
    };
    signal.addEventListener('abort', done);
  });
}

function observe(workload: SimulatedWorkload): Observed {
  const { spec, startedAt, frozenAt, ended } = workload;
  const isRunning = startedAt !== null && ended === null;
  return {
    id: spec.id,
    kind: spec.kind,
    state: ended ? 'exited' : startedAt === null ? 'created' : frozenAt !== null ? 'frozen' : 'running',
    ...(isRunning ? whereabouts(workload) : { address: null, publishedPorts: [] }),
    exitCode: ended?.exitCode ?? null,
    reason: ended?.reason ?? null,
    startedAt: startedAt === null ? null : new Date(startedAt),
    finishedAt: ended && new Date(ended.at),
  };
}

function whereabouts({ address, spec }: SimulatedWorkload): Whereabouts {
  return { address, publishedPorts: spec.ports.map((port) => ({ ...parsePort(port), public: null, ip: null })) };
}
