/**
 * A runtime in front of another one, which pretends shortage (domain/simulation): GPUs that come and go, in data centres
 * that the machine does not have, images that take long to arrive, workloads that crash or are taken away. To the rest
 * of Podyard all of it is as real as if a cloud had done it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Incident, Simulation } from '../../domain/simulation/simulation.ts';
import { type DescribePool, describePool } from '../gpu-pools.ts';
import type {
  Capacity,
  GpuCapacity,
  LogLine,
  LogsOptions,
  Observed,
  OnEvent,
  OnProgress,
  RegistryAuth,
  Runtime,
  StartOptions,
  Whereabouts,
  WorkloadSpec,
} from '../runtime.ts';

const KILLED = 137;
const CRASHED = 1;

export class ShortageRuntime implements Runtime {
  readonly #inner: Runtime;
  readonly #inventory: Map<string, number>;
  readonly #describe: DescribePool;
  #simulation: Simulation;
  /** By endpoint: how many of the next starts end at once. */
  readonly #crashingStarts = new Map<string, number>();
  /** Workloads that an incident ends, and how they shall look afterwards; until they are stopped. */
  readonly #doomed = new Map<string, Observed>();
  readonly #listeners = new Set<OnEvent>();

  /** `inventory` is what `inner` believes to have, pool by pool; it is kept large enough for whatever is pretended. */
  constructor(options: {
    inner: Runtime;
    inventory: Map<string, number>;
    simulation: Simulation;
    describePool?: DescribePool;
  }) {
    this.#inner = options.inner;
    this.#inventory = options.inventory;
    this.#describe = options.describePool ?? describePool;
    this.#simulation = options.simulation;
    this.pretend(options.simulation);
  }

  get name() {
    return this.#inner.name;
  }

  get capabilities() {
    return this.#inner.capabilities;
  }

  /** From now on. What runs keeps what it has. */
  pretend(simulation: Simulation): void {
    this.#simulation = simulation;
    const totals = new Map<string, number>();
    for (const { pool, total } of simulation.gpus) totals.set(pool, (totals.get(pool) ?? 0) + total);
    for (const [pool, total] of totals) this.#inventory.set(pool, Math.max(total, this.#inventory.get(pool) ?? 0));
  }

  /** Lets it happen. A workload that is not there is left alone. */
  async happen(incident: Incident): Promise<void> {
    if (incident.kind === 'crashStarts') {
      this.#crashingStarts.set(incident.endpointId, incident.starts);
    } else if (incident.kind === 'crash') {
      await this.#end(incident.workloadId, 0, incident.exitCode, 'it crashed (simulated)');
    } else {
      const reason = 'it was preempted: its capacity was needed for somebody else (simulated)';
      await this.#end(incident.workloadId, incident.graceSeconds * 1000, KILLED, reason);
    }
  }

  workerApiAddress(): Promise<{ bind: string; host: string }> {
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

  async prepare(image: string, options: { auth?: RegistryAuth; onProgress?: OnProgress } = {}): Promise<void> {
    const { slowPull } = this.#simulation;
    if (slowPull && (slowPull.image === null || slowPull.image === image)) {
      options.onProgress?.(`Pulling image ${image}, slowly: ${slowPull.seconds} s (simulated)`);
      await sleep(slowPull.seconds * 1000, undefined, { ref: false });
    }
    await this.#inner.prepare(image, options);
  }

  async start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    this.#doomed.delete(spec.id);
    const whereabouts = await this.#inner.start({ ...spec, dataCenterId: null }, options); // it is pretended, too
    const endpointId = spec.env.RUNPOD_ENDPOINT_ID ?? '';
    const left = this.#crashingStarts.get(endpointId) ?? 0;
    if (left > 0) {
      this.#crashingStarts.set(endpointId, left - 1);
      await this.#end(spec.id, 0, CRASHED, 'it crashed while it started (simulated)');
    }
    return whereabouts;
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
    this.#doomed.delete(id);
  }

  async list(): Promise<Observed[]> {
    const observed = await this.#inner.list();
    if (this.#doomed.size === 0) return observed; // of thousands no copies are made
    const alive = new Set(observed.flatMap(({ id, state }) => (state === 'exited' ? [] : [id])));
    const others = observed.filter(({ id }) => alive.has(id) || !this.#doomed.has(id));
    return [...others, ...[...this.#doomed.values()].filter(({ id }) => !alive.has(id))];
  }

  logs(id: string, options: LogsOptions): AsyncIterable<LogLine> {
    return this.#inner.logs(id, options);
  }

  watch(onEvent: OnEvent): () => void {
    this.#listeners.add(onEvent);
    const unwatch = this.#inner.watch(onEvent);
    return () => {
      this.#listeners.delete(onEvent);
      unwatch();
    };
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Noted before it ends, so that who sees it gone knows why. */
  async #end(id: string, graceMs: number, exitCode: number, reason: string): Promise<void> {
    const before = (await this.#inner.list()).find((one) => one.id === id && one.state !== 'exited');
    if (!before) return;
    const finishedAt = new Date();
    this.#doomed.set(id, {
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
