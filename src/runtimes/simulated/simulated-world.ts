import type { GpuCapacity, Observed, RegistryAuth, Whereabouts, WorkloadSpec } from '../runtime.ts';
import { parsePort } from '../workload-spec.ts';
import { realTimerClock, type TimerClock } from './timer-clock.ts';

/** How a workload behaves. Times count only while it is not frozen. */
export interface Behaviour {
  startMs: number;
  /** Fails the start after `startMs`, with this sentence. */
  startFailure: string | null;
  /** Null: runs until it is stopped. */
  exitAfterMs: number | null;
  exitCode: number;
  reason: string | null;
  memoryBytes: number;
  /** From SIGTERM to its end. Null: ignores SIGTERM. */
  endAfterTermMs: number | null;
  /** The n-th line, from 0, and when it is printed in run time; undefined after the last. Times ascend. */
  lines: (n: number) => { atMs: number; line: string } | undefined;
}

export interface SimulatedPool {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  cudaVersion?: string;
}

export interface SimulatedWorldOptions {
  clock?: TimerClock;
  pools?: readonly SimulatedPool[];
  memoryBytes?: number;
  cpus?: number;
  /** Overrides a workload that starts at once, prints nothing and runs until it is stopped. */
  behave?: (spec: WorkloadSpec) => Partial<Behaviour>;
  /** How long an image takes to pull, or why it cannot be pulled. Default: every image at once. */
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

/** Shared by all workloads that behave so. */
const AS_USUAL: Partial<Behaviour> = {};
const NOTHING = () => {};

/** The simulated machines with their images and workloads: they outlive a runtime. */
export class SimulatedWorld {
  readonly clock: TimerClock;
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly behave: (spec: WorkloadSpec) => Partial<Behaviour>;
  readonly pull: NonNullable<SimulatedWorldOptions['pull']>;
  /** Images that are present, by name and by reference. */
  readonly images = new Set<string>();
  /** Contents behind names, in the registry and on the machine, if not the names themselves. May change at any time. */
  readonly contents = new Map<string, string>();
  readonly workloads = new Map<string, SimulatedWorkload>();
  /** May change at any time. Running workloads keep what they have. */
  pools: readonly SimulatedPool[];
  readonly #held = new Map<string, number>();
  #addresses = 0;

  constructor(options: SimulatedWorldOptions = {}) {
    this.clock = options.clock ?? realTimerClock;
    this.pools = options.pools ?? [];
    this.memoryBytes = options.memoryBytes ?? 2 ** 40;
    this.cpus = options.cpus ?? 256;
    this.behave = options.behave ?? (() => AS_USUAL);
    this.pull = options.pull ?? (() => ({ ms: 0 }));
  }

  gpus(): GpuCapacity[] {
    return this.pools.map((pool) => ({ ...pool, free: this.freeIn(pool) }));
  }

  freeIn(pool: SimulatedPool): number {
    return Math.max(0, pool.total - (this.#held.get(placeKey(pool)) ?? 0));
  }

  /** Keeps a running count: summing thousands of workloads at each start would be slow. */
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

export class SimulatedWorkload {
  /** Only the parts needed after the start: there may be many thousands of workloads. */
  readonly spec: Pick<WorkloadSpec, 'id' | 'kind' | 'gpu' | 'ports'>;
  readonly installation: string;
  readonly behaviour: Behaviour;
  readonly place: SimulatedPool | null;
  readonly address: string;
  readonly #world: SimulatedWorld;
  readonly #clock: TimerClock;
  readonly #onChange: (id: string) => void;
  /** Waiters for a change; absent while there are none, as for most of thousands of workloads. */
  #waiting: Set<() => void> | undefined;
  startedAt: number | null = null;
  frozenAt: number | null = null;
  ended: { at: number; exitCode: number; reason: string | null } | null = null;
  /** Past freezes: at which run time, and for how long. */
  readonly #freezes: { atMs: number; forMs: number }[] = [];
  /** While it sleeps, others may have its GPUs. */
  hasLentGpus = false;
  #cancelExit = NOTHING;
  #observed: Observed | undefined;

  constructor(
    world: SimulatedWorld,
    installation: string,
    spec: WorkloadSpec,
    place: SimulatedPool | null,
    onChange: (id: string) => void,
  ) {
    this.#world = world;
    this.#onChange = onChange;
    this.#clock = world.clock;
    this.spec = { id: spec.id, kind: spec.kind, gpu: spec.gpu, ports: spec.ports };
    this.installation = installation;
    this.place = place;
    const own = world.behave(spec);
    this.behaviour = own === AS_USUAL ? QUIET : { ...QUIET, ...own };
    this.address = world.nextAddress();
    world.hold(place, spec.gpu?.count ?? 0);
  }

  /** Run time in ms: since the start, without the time frozen. Final after the end. */
  runMs(): number {
    if (this.startedAt === null) return 0;
    const until = this.ended?.at ?? this.frozenAt ?? this.#clock.now();
    return until - this.startedAt - this.#freezes.reduce((sum, { forMs }) => sum + forMs, 0);
  }

  /** Converts a past moment of run time to clock time. */
  clockOf(runMs: number): number {
    const before = this.#freezes.filter(({ atMs }) => atMs < runMs);
    return this.startedAt! + runMs + before.reduce((sum, { forMs }) => sum + forMs, 0);
  }

  /** True if it never prints, so that its followers are never woken: thousands may be followed. */
  get isSilent(): boolean {
    return this.behaviour.lines === QUIET.lines;
  }

  whereabouts(): Whereabouts {
    const publishedPorts = this.spec.ports.map((port) => ({ ...parsePort(port), public: null, ip: null }));
    return { address: this.address, publishedPorts };
  }

  /** Returns the same object until something changes: listing thousands must be cheap. */
  observe(): Observed {
    this.#observed ??= this.#toObserved();
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

  lendGpus(): void {
    if (this.hasLentGpus) return;
    this.hasLentGpus = true;
    this.#world.hold(this.place, -this.#gpuCount);
  }

  /** False when too few are free. */
  reclaimGpus(): boolean {
    if (!this.hasLentGpus) return true;
    if (this.place && this.#world.freeIn(this.place) < this.#gpuCount) return false;
    this.hasLentGpus = false;
    this.#world.hold(this.place, this.#gpuCount);
    return true;
  }

  get #gpuCount(): number {
    return this.spec.gpu?.count ?? 0;
  }

  end(exitCode: number, reason: string | null): void {
    if (this.ended !== null) return;
    this.#cancelExit();
    this.lendGpus(); // for good
    this.ended = { at: this.#clock.now(), exitCode, reason };
    this.changed();
  }

  changed(): void {
    this.#observed = undefined;
    this.#onChange(this.spec.id);
    for (const wake of [...(this.#waiting ?? [])]) wake();
  }

  /** Resolves when something changes, when its run time reaches `atMs`, or when `signal` aborts. */
  nextChange(atMs: number | undefined, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const isRunning = this.startedAt !== null && this.frozenAt === null;
      const cancel = atMs !== undefined && isRunning ? this.#clock.after(atMs - this.runMs(), () => done()) : () => {};
      const done = () => {
        cancel();
        this.#waiting?.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting ??= new Set();
      this.#waiting.add(done);
      signal.addEventListener('abort', done);
    });
  }

  #toObserved(): Observed {
    const { spec, startedAt, frozenAt, ended } = this;
    const isRunning = startedAt !== null && ended === null;
    return {
      id: spec.id,
      kind: spec.kind,
      state: ended ? 'exited' : startedAt === null ? 'created' : frozenAt !== null ? 'frozen' : 'running',
      ...(isRunning ? this.whereabouts() : { address: null, publishedPorts: [] }),
      exitCode: ended?.exitCode ?? null,
      reason: ended?.reason ?? null,
      startedAt: startedAt === null ? null : new Date(startedAt),
      finishedAt: ended && new Date(ended.at),
    };
  }

  #scheduleExit(): void {
    const { exitAfterMs, exitCode, reason } = this.behaviour;
    if (exitAfterMs === null) return;
    this.#cancelExit = this.#clock.after(exitAfterMs - this.runMs(), () => this.end(exitCode, reason));
  }
}
