/**
 * Workloads as containers of a Docker Engine (API 1.41 or newer; Podman's socket speaks it too). The engine keeps all
 * state: labels say which containers are ours, so that a restarted Podyard finds them again. A start costs two requests,
 * create and start; what else is needed (network, image, GPUs of this machine) is looked up once and remembered.
 */
import { Failure, notFound } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { type DescribePool, describePool, gpuCapacity, idleGpus } from '../gpu-pools.ts';
import { InFlight } from '../in-flight.ts';
import { parsePort } from '../ports.ts';
import type {
  Capacity,
  LogLine,
  LogsOptions,
  Observed,
  ObservedState,
  OnEvent,
  OnProgress,
  RegistryAuth,
  Runtime,
  StartOptions,
  Whereabouts,
  WorkloadSpec,
  WorkloadStats,
} from '../runtime.ts';
import { BridgeNetwork } from './bridge-network.ts';
import { ContainerAddresses } from './container-addresses.ts';
import { containerConfig, gpuOf, LABELS, portsOf } from './container-config.ts';
import { watchContainers } from './container-events.ts';
import { readUsage } from './container-usage.ts';
import { Engine, EngineError, isRefusal } from './engine.ts';
import { EngineImages } from './engine-images.ts';
import { LogFrames, LogPlace } from './log-frames.ts';
import { type Gpu, listNvidiaGpus, readGpuUsage } from './nvidia-gpus.ts';

export interface DockerRuntimeOptions {
  /** Default: what DOCKER_HOST says, else the usual socket. */
  socketPath?: string;
  installation: string;
  /** Simulated: pool → number of GPUs. Null: the real ones of this machine. */
  gpus: ReadonlyMap<string, number> | null;
  describePool?: DescribePool;
  /** The bridge network, shared by all installations on the engine. Default `podyard`. */
  network?: string;
  /** The address of this machine on which ports of pods are published. Default 127.0.0.1. */
  publishIp?: string;
  /** Where it is kept which images are private. Without it that is known to this process alone. */
  stateDir?: string;
  /** How long a registry's word about credentials is believed. Default 5 minutes. */
  accessTtlMs?: number;
  logger: Logger;
}

/** The members used of an item of `GET /containers/json`. */
interface ContainerSummary {
  Id: string;
  Labels: Record<string, string>;
  State: string;
  Created: number;
  NetworkSettings?: { Networks?: Record<string, { IPAddress?: string }> };
  Ports?: { IP?: string; PrivatePort: number; PublicPort?: number }[];
}

/** The members used of `GET /containers/{id}/json`. */
interface ContainerDetails {
  State: { Status: string; ExitCode: number; OOMKilled: boolean; Error: string; StartedAt: string; FinishedAt: string };
  HostConfig: { Memory: number; NanoCpus: number };
  Config: { Labels: Record<string, string> };
  NetworkSettings: {
    Networks?: Record<string, { IPAddress?: string }>;
    Ports?: Record<string, { HostIp: string; HostPort: string }[] | null>;
  };
}

/** The members used of `GET /containers/{id}/stats`. */
interface ContainerStats {
  memory_stats?: { usage?: number; stats?: { inactive_file?: number; total_inactive_file?: number } };
}

/** The members used of `GET /info`. */
interface EngineInfo {
  NCPU: number;
  MemTotal: number;
  Driver: string;
  DriverStatus: [string, string][] | null;
}

interface Machine {
  memoryBytes: number;
  cpus: number;
  canLimitDisk: boolean;
}

type Ending = Pick<Observed, 'exitCode' | 'reason' | 'startedAt' | 'finishedAt'>;

const STATES: Record<string, ObservedState> = {
  created: 'created',
  running: 'running',
  restarting: 'running',
  paused: 'frozen',
};

const CREATE_TIMEOUT_MS = 120_000;
/** An address that somebody else has, or a port of this machine. */
const TAKEN = /address already in use|ip address .* already allocated|port is already allocated/i;
const PORT_TAKEN = /port is already allocated|bind: address already in use/i;
const ADDRESS_TRIES = 20;
/** How long an address is believed; a workload that ended or started anew is found out by then. */
const ADDRESS_TTL_MS = 2000;
const REMOVE_TIMEOUT_MS = 60_000;

/** Nothing is asked of the engine before the first call. */
export function createDockerRuntime(options: DockerRuntimeOptions): Runtime {
  return new DockerRuntime(options);
}

class DockerRuntime implements Runtime {
  readonly name = 'docker';
  readonly capabilities = { gpu: true, freeze: 'freezer' as const, volumes: true, logs: true, isolation: true };
  readonly #options: DockerRuntimeOptions;
  readonly #engine: Engine;
  readonly #network: BridgeNetwork;
  readonly #starts = new InFlight<Whereabouts>();
  readonly #images: EngineImages;
  /** Of ended containers, by container id: an end does not change any more. */
  readonly #endings = new Map<string, Ending>();
  /** When this process saw a workload start; the engine's list has only whole seconds of the creation. */
  readonly #startedAt = new Map<string, Date>();
  /** Real GPUs by workload, kept from before the create request, so that two starts never choose the same. */
  readonly #devices = new Map<string, readonly string[]>();
  /** Where workloads were last seen; null: not running. */
  readonly #lastSeen = new Map<string, { address: string | null; at: number }>();
  readonly #looks = new InFlight<string | null>();
  readonly #closed = new AbortController();
  #addresses: ContainerAddresses | undefined;
  #machine: Promise<Machine> | undefined;
  #realGpus: Promise<Gpu[]> | undefined;

  constructor(options: DockerRuntimeOptions) {
    this.#options = options;
    this.#engine = new Engine(options.socketPath);
    this.#network = new BridgeNetwork(this.#engine, options.network ?? 'podyard', options.logger);
    this.#images = new EngineImages(this.#engine, options);
  }

  async workerApiAddress(): Promise<{ bind: string; host: string }> {
    const { gateway } = await this.#network.ensure();
    return { bind: gateway, host: gateway };
  }

  async capacity(): Promise<Capacity> {
    const [machine, containers, gpus] = await Promise.all([this.#readMachine(), this.#containers(), this.#pools()]);
    const held = containers.filter((one) => stateOf(one) !== 'exited').map((one) => gpuOf(one.Labels));
    const { memoryBytes, cpus } = machine;
    return { memoryBytes, cpus, gpus: gpuCapacity(gpus.pools, held, gpus.describe) };
  }

  prepare(image: string, options: { auth?: RegistryAuth; onProgress?: OnProgress } = {}): Promise<void> {
    return this.#images.prepare(image, options);
  }

  start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    return this.#starts.run(spec.id, async () => {
      const devices = await this.#chooseDevices(spec);
      try {
        return await this.#createAndStart(spec, devices, options);
      } catch (error) {
        this.#devices.delete(spec.id);
        throw error;
      }
    });
  }

  async memoryBytes(id: string): Promise<number> {
    const path = `/containers/${this.#nameOf(id)}/stats`;
    const query = { stream: 0, 'one-shot': 1 };
    try {
      return memoryOf(await this.#engine.json<ContainerStats>({ method: 'GET', path, query }));
    } catch (error) {
      if (isRefusal(error, 404)) throw notFound('Workload');
      throw error;
    }
  }

  async reach(id: string, port: number): Promise<{ host: string; port: number } | null> {
    const seen = this.#lastSeen.get(id);
    const isFresh = seen !== undefined && performance.now() - seen.at < ADDRESS_TTL_MS;
    const address = isFresh ? seen.address : await this.#looks.run(id, () => this.#lookUp(id));
    return address === null ? null : { host: address, port };
  }

  async stats(id: string): Promise<WorkloadStats | null> {
    try {
      const { State, HostConfig, Config } = await this.#inspect(this.#nameOf(id));
      if (State.Status !== 'running') return null;
      const usage = await readUsage(this.#engine, this.#nameOf(id), HostConfig.NanoCpus / 1e9);
      const devices = Config.Labels[LABELS.gpuDevices]?.split(',');
      const gpus = devices ? await readGpuUsage(devices) : idleGpus(gpuOf(Config.Labels));
      return usage && { ...usage, gpus };
    } catch (error) {
      if (isRefusal(error, 404) || isRefusal(error, 409)) return null;
      throw error;
    }
  }

  async freeze(id: string): Promise<void> {
    await this.#act(id, 'pause', /already paused/i);
  }

  async thaw(id: string): Promise<void> {
    await this.#act(id, 'unpause', /is not paused/i);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#starts.settled(id);
    try {
      if (graceMs > 0) await this.#stopGently(id, Math.ceil(graceMs / 1000));
      await this.#remove(id);
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
    }
    this.#startedAt.delete(id);
    this.#devices.delete(id);
    this.#lastSeen.delete(id);
  }

  async list(): Promise<Observed[]> {
    const containers = await this.#containers();
    const seen = new Set(containers.map(({ Id }) => Id));
    for (const id of this.#endings.keys()) if (!seen.has(id)) this.#endings.delete(id);
    const observed = await Promise.all(containers.map((container) => this.#observe(container)));
    return observed.filter((one) => one !== undefined);
  }

  async *logs(id: string, options: LogsOptions): AsyncGenerator<LogLine> {
    const place = new LogPlace(options);
    yield* this.#readLogs(id, place, options);
    // The engine ends a follower when the container ends, at times before it has sent the last lines.
    if (options.follow && !options.signal.aborted) yield* this.#readLogs(id, place, { ...options, follow: false });
  }

  watch(onEvent: OnEvent): () => void {
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#closed.signal]);
    void watchContainers(this.#engine, this.#options.installation, onEvent, signal, this.#options.logger);
    return () => ended.abort();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#engine.close();
  }

  /** An address that turns out to be taken costs another try: strangers on the network choose theirs without asking. */
  async #createAndStart(spec: WorkloadSpec, devices: readonly string[], tell: StartOptions): Promise<Whereabouts> {
    for (let left = ADDRESS_TRIES; ; left--) {
      const address = left > 1 ? await this.#nextAddress() : null;
      if ((await this.#create(spec, devices, address)) === 'runs already') return this.#find(spec.id);
      tell.onProgress?.('Container created');
      tell.onCreated?.();
      try {
        await this.#post(spec.id, 'start', { timeoutMs: CREATE_TIMEOUT_MS });
      } catch (error) {
        await this.#remove(spec.id).catch(() => {});
        if (left > 1 && error instanceof EngineError && isChanceTaken(error.message, spec)) continue;
        if (isRefusal(error, 404, /network/i)) this.#forgetNetwork(); // somebody removed it: the next start makes it anew
        throw startFailure(error);
      }
      this.#startedAt.set(spec.id, new Date());
      tell.onProgress?.('Container started');
      return this.#settle(spec, address);
    }
  }

  /** Null where the engine has to choose. */
  async #nextAddress(): Promise<string | null> {
    const { subnet, gateway, isPinned } = await this.#network.ensure();
    if (!isPinned) return null;
    this.#addresses ??= new ContainerAddresses(subnet, gateway, Math.random());
    return this.#addresses.next();
  }

  #forgetNetwork(): void {
    this.#network.forget();
    this.#addresses = undefined;
  }

  /** Spares the engine a question where the answer is known. */
  async #settle(spec: WorkloadSpec, address: string | null): Promise<Whereabouts> {
    if (address === null || (spec.kind === 'pod' && spec.ports.length > 0)) return this.#find(spec.id);
    this.#noteAddress(spec.id, address);
    return { address, publishedPorts: spec.ports.map((port) => ({ ...parsePort(port), public: null, ip: null })) };
  }

  /** Where it is, by the engine. */
  async #find(id: string): Promise<Whereabouts> {
    const { State, Config, NetworkSettings } = await this.#inspect(this.#nameOf(id));
    const isThere = State.Status === 'running' || State.Status === 'paused';
    const address = (isThere && NetworkSettings.Networks?.[this.#network.name]?.IPAddress) || null;
    this.#noteAddress(id, address);
    if (!isThere) return { address, publishedPorts: [] };
    const publishedPorts = portsOf(Config.Labels, (port) => {
      const binding = NetworkSettings.Ports?.[`${port}/tcp`]?.[0];
      return binding && { ip: binding.HostIp, public: Number(binding.HostPort) };
    });
    return { address, publishedPorts };
  }

  async #lookUp(id: string): Promise<string | null> {
    try {
      return (await this.#find(id)).address;
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
      this.#noteAddress(id, null);
      return null;
    }
  }

  #noteAddress(id: string, address: string | null): void {
    if (this.#lastSeen.size > 10_000) this.#lastSeen.clear();
    this.#lastSeen.set(id, { address, at: performance.now() });
  }

  async #create(
    spec: WorkloadSpec,
    devices: readonly string[],
    address: string | null,
  ): Promise<'created' | 'runs already'> {
    const body = containerConfig(spec, {
      installation: this.#options.installation,
      network: this.#network.name,
      address,
      devices,
      publishIp: this.#options.publishIp ?? '127.0.0.1',
      canLimitDisk: (await this.#readMachine()).canLimitDisk,
    });
    const create = () =>
      this.#engine.json({
        method: 'POST',
        path: '/containers/create',
        query: { name: this.#nameOf(spec.id) },
        body,
        timeoutMs: CREATE_TIMEOUT_MS,
      });
    try {
      await create();
      return 'created';
    } catch (error) {
      if (isRefusal(error, 409, /already in use/i)) return this.#settleConflict(spec.id, create);
      if (isRefusal(error, 404)) {
        this.#images.forget(spec.image);
        throw new Failure('unavailable', `Image '${spec.image}' is not present on this machine`, { cause: error });
      }
      if (error instanceof EngineError && /storage-opt/i.test(error.message)) {
        const machine = await this.#readMachine();
        if (machine.canLimitDisk) {
          this.#options.logger.warn({ err: error }, 'the engine cannot hold containers to the size of their disk');
          machine.canLimitDisk = false;
          return this.#create(spec, devices, address);
        }
      }
      throw startFailure(error);
    }
  }

  /** The name is taken: by the workload itself, or by what is left of it. */
  async #settleConflict(id: string, create: () => Promise<unknown>): Promise<'created' | 'runs already'> {
    const { State } = await this.#inspect(this.#nameOf(id));
    if (State.Status === 'running' || State.Status === 'paused') return 'runs already';
    await this.#remove(id); // also one that never ran: it may stand on an address of before
    await create();
    return 'created';
  }

  /** One pass over what the engine has. What is being removed has no more lines. */
  async *#readLogs(id: string, place: LogPlace, { follow, signal }: LogsOptions): AsyncGenerator<LogLine> {
    const query = { stdout: 1, stderr: 1, timestamps: 1, follow: follow ? 1 : 0, ...place.beginPass() };
    const frames = new LogFrames();
    try {
      const path = `/containers/${this.#nameOf(id)}/logs`;
      const stream = await this.#engine.stream({ method: 'GET', path, query, signal });
      for await (const chunk of stream)
        for (const line of frames.take(chunk as Buffer)) if (place.pass(line)) yield line;
    } catch (error) {
      if (signal.aborted || isRefusal(error, 409)) return;
      if (!isRefusal(error, 404)) throw error;
      if (!place.isBegun) throw notFound('Workload');
    }
    // With a follower the engine may still hold the rest of an open line; the pass after it gets all of it.
    if (!follow) for (const line of frames.end()) if (place.pass(line)) yield line;
  }

  async #act(id: string, action: 'pause' | 'unpause', isDone: RegExp): Promise<void> {
    try {
      await this.#post(id, action);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.status === 404) throw notFound('Workload');
      const { State } = await this.#inspect(this.#nameOf(id)); // the engine says 'not paused' of an ended one, too
      if (!['running', 'paused'].includes(State.Status)) throw new Failure('conflict', `Workload ${id} has ended`);
      if (isDone.test(error.message)) return;
      throw new Failure('unavailable', `The container engine could not ${action} workload ${id}: ${error.message}`);
    }
  }

  /** Docker wakes a paused container for its signal; Podman wants it woken before. */
  async #stopGently(id: string, seconds: number): Promise<void> {
    const stop = () => this.#post(id, 'stop', { query: { t: seconds }, timeoutMs: seconds * 1000 + REMOVE_TIMEOUT_MS });
    try {
      await stop();
    } catch (error) {
      if (!(error instanceof EngineError) || error.status === 404) throw error;
      await this.#post(id, 'unpause').catch(() => {});
      await stop();
    }
  }

  /** Kills what runs. Resolves when the engine knows it no more; also when somebody else removes it at this moment. */
  async #remove(id: string): Promise<void> {
    const path = `/containers/${this.#nameOf(id)}`;
    try {
      await this.#engine.json({ method: 'DELETE', path, query: { force: 1, v: 1 }, timeoutMs: REMOVE_TIMEOUT_MS });
    } catch (error) {
      if (!isRefusal(error, 409, /removal .* in progress/i)) throw error;
      const query = { condition: 'removed' };
      await this.#engine.json({ method: 'POST', path: `${path}/wait`, query, timeoutMs: REMOVE_TIMEOUT_MS });
    }
  }

  async #post(
    id: string,
    action: string,
    more: { query?: Record<string, unknown>; timeoutMs?: number } = {},
  ): Promise<void> {
    await this.#engine.json({ method: 'POST', path: `/containers/${this.#nameOf(id)}/${action}`, ...more });
  }

  #inspect(container: string): Promise<ContainerDetails> {
    return this.#engine.json({ method: 'GET', path: `/containers/${container}/json` });
  }

  #containers(): Promise<ContainerSummary[]> {
    const filters = JSON.stringify({ label: [`${LABELS.installation}=${this.#options.installation}`] });
    return this.#engine.json({ method: 'GET', path: '/containers/json', query: { all: 1, filters } });
  }

  async #observe(container: ContainerSummary): Promise<Observed | undefined> {
    const id = container.Labels[LABELS.id] ?? '';
    const state = stateOf(container);
    const known = { id, kind: container.Labels[LABELS.kind] === 'pod' ? 'pod' : 'worker', state } as const;
    if (state === 'exited') {
      const ending = await this.#endingOf(container.Id);
      return ending && { ...known, ...ending, address: null, publishedPorts: [] };
    }
    const address = container.NetworkSettings?.Networks?.[this.#network.name]?.IPAddress || null;
    const publishedPorts = state === 'created' ? [] : portsOf(container.Labels, publicPortsOf(container));
    const startedAt = state === 'created' ? null : (this.#startedAt.get(id) ?? new Date(container.Created * 1000));
    return { ...known, address, publishedPorts, exitCode: null, reason: null, startedAt, finishedAt: null };
  }

  /** Undefined when the container is removed meanwhile. */
  async #endingOf(containerId: string): Promise<Ending | undefined> {
    const known = this.#endings.get(containerId);
    if (known) return known;
    try {
      const ending = endingOf(await this.#inspect(containerId));
      this.#endings.set(containerId, ending);
      return ending;
    } catch (error) {
      if (isRefusal(error, 404)) return undefined;
      throw error;
    }
  }

  #nameOf(id: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(id))
      throw new Failure('badRequest', `'${id}' cannot be the id of a workload`);
    return `podyard-${this.#options.installation}-${id}`;
  }

  #readMachine(): Promise<Machine> {
    this.#machine ??= this.#engine.json<EngineInfo>({ method: 'GET', path: '/info' }).then(
      (info) => ({ memoryBytes: info.MemTotal, cpus: info.NCPU, canLimitDisk: hasDiskLimits(info) }),
      (error) => {
        this.#machine = undefined;
        throw error;
      },
    );
    return this.#machine;
  }

  async #pools(): Promise<{ pools: ReadonlyMap<string, number>; describe: DescribePool }> {
    const describe = this.#options.describePool ?? describePool;
    if (this.#options.gpus) return { pools: this.#options.gpus, describe };
    this.#realGpus ??= listNvidiaGpus();
    const byPool = Map.groupBy(await this.#realGpus, ({ pool }) => pool);
    return {
      pools: new Map([...byPool].map(([pool, gpus]) => [pool, gpus.length])),
      describe: (pool) => ({ ...describe(pool), gpuTypeId: byPool.get(pool)?.[0]?.gpuTypeId ?? pool }),
    };
  }

  /** Real GPUs that nobody holds; none when GPUs are simulated, for then the caller's own count is enough. */
  async #chooseDevices(spec: WorkloadSpec): Promise<readonly string[]> {
    if (!spec.gpu || this.#options.gpus) return [];
    this.#realGpus ??= listNvidiaGpus();
    const [gpus, containers] = await Promise.all([this.#realGpus, this.#containers()]);
    const own = this.#devices.get(spec.id);
    if (own) return own;
    const running = containers.filter((one) => stateOf(one) !== 'exited');
    const labelled = running.flatMap((one) => one.Labels[LABELS.gpuDevices]?.split(',') ?? []);
    const held = new Set([...labelled, ...[...this.#devices.values()].flat()]);
    const free = gpus.filter((gpu) => gpu.pool === spec.gpu!.pool && !held.has(gpu.uuid)).map(({ uuid }) => uuid);
    if (free.length < spec.gpu.count) {
      throw new Failure(
        'unavailable',
        `Pool ${spec.gpu.pool} has ${free.length} GPUs free, but ${spec.gpu.count} are needed together`,
      );
    }
    const chosen = free.slice(0, spec.gpu.count);
    this.#devices.set(spec.id, chosen);
    return chosen;
  }
}

/** overlay2 needs XFS below it, mounted with project quotas; whether it is, only a try can tell. */
function hasDiskLimits({ Driver, DriverStatus }: EngineInfo): boolean {
  if (Driver === 'btrfs' || Driver === 'zfs') return true;
  return (
    Driver === 'overlay2' &&
    (DriverStatus ?? []).some(([name, value]) => /^backing fs|^backing filesystem/i.test(name) && value === 'xfs')
  );
}

/** Whether what is taken would be another one at the next try; ports that the caller chose would be the same again. */
function isChanceTaken(message: string, { publicPorts }: WorkloadSpec): boolean {
  const isChosen = Object.keys(publicPorts ?? {}).length > 0 && PORT_TAKEN.test(message);
  return TAKEN.test(message) && !isChosen;
}

/** Where a container's ports are published, by the engine's list. */
function publicPortsOf({ Ports }: ContainerSummary): (port: number) => { ip: string; public: number } | undefined {
  return (port) => {
    const found = Ports?.find(({ PrivatePort, PublicPort }) => PrivatePort === port && PublicPort !== undefined);
    return found && { ip: found.IP ?? '0.0.0.0', public: found.PublicPort! };
  };
}

function stateOf(container: ContainerSummary): ObservedState {
  return STATES[container.State] ?? 'exited';
}

function endingOf({ State, HostConfig }: ContainerDetails): Ending {
  const limit = HostConfig.Memory > 0 ? ` of ${Math.round(HostConfig.Memory / 2 ** 20)} MiB` : '';
  return {
    exitCode: State.ExitCode,
    reason: State.OOMKilled ? `It ran out of memory: it needed more than its limit${limit}` : State.Error || null,
    startedAt: timeOf(State.StartedAt),
    finishedAt: timeOf(State.FinishedAt),
  };
}

/** As `docker stats` counts: without the file cache that the kernel may drop (cgroup v2, and v1 under another name). */
function memoryOf({ memory_stats: memory }: ContainerStats): number {
  const cache = memory?.stats?.inactive_file ?? memory?.stats?.total_inactive_file ?? 0;
  return Math.max(0, (memory?.usage ?? 0) - cache);
}

/** The engine says the year 1 for never. */
function timeOf(text: string): Date | null {
  const time = new Date(text);
  return time.getTime() > 0 ? time : null;
}

/** The end of the engine's sentence is what a user can act on; the layers before it are its own. */
function startFailure(error: unknown): Error {
  if (!(error instanceof EngineError)) return error as Error;
  if (/no space left/i.test(error.message)) {
    return new Failure('unavailable', 'The disk of this machine is full: the container could not be made', {
      cause: error,
    });
  }
  const words = error.message.replace(/^.*unable to start container process: /s, '').replace(/: unknown$/, '');
  return new Failure('unprocessable', `The container could not be started: ${words}`, { cause: error });
}
