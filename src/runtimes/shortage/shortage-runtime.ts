/**
 * A runtime in front of another one that simulates shortage (domain/simulation): GPUs that come and go, in data centers the machine does
 * not have, slow pulls, workloads that crash or are preempted. To the rest of Podyard it looks like a real cloud.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ImageIdentity } from '../../domain/images/image-identity.ts';
import type { Incident, Simulation } from '../../domain/simulation/simulation.ts';
import type { ExecRequest, Execution } from '../execution.ts';
import { type DescribePool, describePool } from '../gpu-pools.ts';
import type {
  Capacity,
  GpuCapacity,
  LogLine,
  LogsOptions,
  Observed,
  OnEvent,
  PrepareOptions,
  RegistryAuth,
  Runtime,
  StartOptions,
  Whereabouts,
  WorkloadSpec,
} from '../runtime.ts';

const KILLED = 137;
const CRASHED = 1;

export class ShortageRuntime implements Runtime {
  /** Absent where the other runtime has none, because that says that endpoints with the same image are one pull. */
  readonly pullAhead?: NonNullable<Runtime['pullAhead']>;
  readonly #inner: Runtime;
  readonly #inventory: Map<string, number>;
  readonly #describe: DescribePool;
  #simulation: Simulation;
  /** By endpoint: how many of the next starts crash. */
  readonly #crashingStarts = new Map<string, number>();
  /** Workloads ended by an incident, as they are listed until they are stopped. */
  readonly #ended = new Map<string, Observed>();
  readonly #listeners = new Set<OnEvent>();

  /** `inventory`: what `inner` believes to have, by pool; kept large enough for what is simulated. */
  constructor(options: {
    inner: Runtime;
    inventory: Map<string, number>;
    simulation: Simulation;
    describePool?: DescribePool;
  }) {
    this.#inner = options.inner;
    if (options.inner.pullAhead) this.pullAhead = options.inner.pullAhead.bind(options.inner);
    this.#inventory = options.inventory;
    this.#describe = options.describePool ?? describePool;
    this.#simulation = options.simulation;
    this.simulate(options.simulation);
  }

  get name() {
    return this.#inner.name;
  }

  get capabilities() {
    return this.#inner.capabilities;
  }

  get evictions() {
    return this.#inner.evictions;
  }

  /** Applies the simulation from now on. Running workloads keep what they have. */
  simulate(simulation: Simulation): void {
    this.#simulation = simulation;
    const totals = new Map<string, number>();
    for (const { pool, total } of simulation.gpus) totals.set(pool, (totals.get(pool) ?? 0) + total);
    for (const [pool, total] of totals) this.#inventory.set(pool, Math.max(total, this.#inventory.get(pool) ?? 0));
  }

  /** Carries out an incident. Ignores a workload that does not exist. */
  async happen(incident: Incident): Promise<void> {
    if (incident.kind === 'crashStarts') {
      this.#crashingStarts.set(incident.endpointId, incident.starts);
    } else if (incident.kind === 'crash') {
      await this.#end(incident.workloadId, 0, incident.exitCode, 'crashed (simulated)');
    } else {
      await this.#end(incident.workloadId, incident.graceSeconds * 1000, KILLED, 'preempted (simulated)');
    }
  }

  workerApiAddress(): ReturnType<Runtime['workerApiAddress']> {
    return this.#inner.workerApiAddress();
  }

  async capacity(): Promise<Capacity> {
    const capacity = await this.#inner.capacity();
    const used = new Map(capacity.gpus.map(({ pool, total, free }) => [pool, total - free]));
    const gpus = this.#simulation.gpus.map(({ pool, dataCenterId, total }): GpuCapacity => {
      const taken = Math.min(total, used.get(pool) ?? 0);
      used.set(pool, (used.get(pool) ?? 0) - taken);
      return { pool, gpuTypeId: this.#describe(pool).gpuTypeId, dataCenterId, total, free: total - taken };
    });
    return { ...capacity, gpus };
  }

  async prepare(image: string, options: PrepareOptions = {}): Promise<ImageIdentity | null> {
    const { slowPull } = this.#simulation;
    if (slowPull && (slowPull.image === null || slowPull.image === image)) {
      options.onProgress?.(`Pulling image ${image}, slowly: ${slowPull.seconds} s (simulated)`);
      await sleep(slowPull.seconds * 1000, undefined, { ref: false });
    }
    return this.#inner.prepare(image, options);
  }

  async start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    this.#ended.delete(spec.id);
    const whereabouts = await this.#inner.start({ ...spec, dataCenterId: null }, options); // simulated, too
    const endpointId = spec.env.RUNPOD_ENDPOINT_ID ?? '';
    const left = this.#crashingStarts.get(endpointId) ?? 0;
    if (left > 0) {
      this.#crashingStarts.set(endpointId, left - 1);
      await this.#end(spec.id, 0, CRASHED, 'crashed on start (simulated)');
    }
    return whereabouts;
  }

  get disks() {
    return this.#inner.disks;
  }

  get groups() {
    return this.#inner.groups;
  }

  get gpuSleep() {
    return this.#inner.gpuSleep;
  }

  reach(id: string, port: number) {
    return this.#inner.reach(id, port);
  }

  stats(id: string) {
    return this.#inner.stats(id);
  }

  memoryBytes(id: string): Promise<number> {
    return this.#inner.memoryBytes(id);
  }

  freeze(id: string): Promise<void> {
    return this.#inner.freeze(id);
  }

  thaw(id: string): Promise<void> {
    return this.#inner.thaw(id);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#inner.stop(id, graceMs);
    this.#ended.delete(id);
  }

  admitImage(image: string, auth?: RegistryAuth): Promise<void> {
    return this.#inner.admitImage(image, auth);
  }

  async imageDisk() {
    return (await this.#inner.imageDisk?.()) ?? null;
  }

  expectStarts(): void {
    this.#inner.expectStarts?.();
  }

  async keepImages(references: readonly string[]): Promise<void> {
    await this.#inner.keepImages?.(references);
  }

  async tidy(): Promise<void> {
    await this.#inner.tidy?.();
  }

  async list(): Promise<Observed[]> {
    const observed = await this.#inner.list();
    if (this.#ended.size === 0) return observed; // avoid copying thousands
    const alive = new Set(observed.flatMap(({ id, state }) => (state === 'exited' ? [] : [id])));
    const others = observed.filter(({ id }) => alive.has(id) || !this.#ended.has(id));
    return [...others, ...[...this.#ended.values()].filter(({ id }) => !alive.has(id))];
  }

  lastOutput(id: string, count: number): Promise<string[]> {
    return this.#inner.lastOutput(id, count);
  }

  logs(id: string, options: LogsOptions): AsyncIterable<LogLine> {
    return this.#inner.logs(id, options);
  }

  exec(id: string, request: ExecRequest): Promise<Execution> {
    return this.#inner.exec(id, request);
  }

  watch(onEvent: OnEvent, onReturn?: () => void): () => void {
    this.#listeners.add(onEvent);
    const unwatch = this.#inner.watch(onEvent, onReturn);
    return () => {
      this.#listeners.delete(onEvent);
      unwatch();
    };
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Recorded before it ends, so that the reason is known when it is seen gone. */
  async #end(id: string, graceMs: number, exitCode: number, reason: string): Promise<void> {
    const before = (await this.#inner.list()).find((one) => one.id === id && one.state !== 'exited');
    if (!before) return;
    const finishedAt = new Date();
    this.#ended.set(id, {
      ...before,
      state: 'exited',
      address: null,
      publishedPorts: [],
      exitCode,
      reason,
      finishedAt,
    });
    await this.#inner.stop(id, graceMs);
    for (const listener of this.#listeners) listener(id);
  }
}
