/**
 * Workloads as containers of a Docker Engine (API 1.41 or newer; Podman's socket works too). The engine keeps all state:
 * labels mark our containers, so that a restarted Podyard finds them again. A start takes two requests, create and start;
 * what else it needs (network, image, GPUs of this machine) is looked up once and cached.
 */

import type { EgressSettings } from '../../config/egress.ts';
import { notFound } from '../../core/errors.ts';
import { InFlight } from '../../core/flow/in-flight.ts';
import type { Logger } from '../../core/logger.ts';
import type { ImageIdentity } from '../../domain/images/image-identity.ts';
import type { RegistryMirrors } from '../../domain/images/registry-mirrors.ts';
import { Engine } from '../../engine/engine.ts';
import { isRefusal } from '../../engine/refusal.ts';
import { type ExecRequest, type Execution, notRunning } from '../execution.ts';
import { GpuLending, NO_REAL_GPUS } from '../gpu-lending.ts';
import { type DescribePool, describePool, idleGpus } from '../gpu-pools.ts';
import { GpuInventory } from '../gpus/gpu-inventory.ts';
import { readGpuUsage } from '../gpus/gpu-usage.ts';
import type {
  Capacity,
  DiskMeter,
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
  WorkloadStats,
} from '../runtime.ts';
import { parsePort } from '../workload-spec.ts';
import { readCgroupMemory } from './containers/cgroups.ts';
import { gpuOf, LABELS } from './containers/container-config.ts';
import { watchContainers } from './containers/container-events.ts';
import { ContainerFreezer } from './containers/container-freezer.ts';
import { containerDisks, readMemory, readUsage } from './containers/container-usage.ts';
import { ContainerWhereabouts } from './containers/container-whereabouts.ts';
import { Containers } from './containers/containers.ts';
import { ObservedContainers } from './containers/observed-containers.ts';
import { type StartParts, startContainer } from './containers/start-container.ts';
import { diskNoticeOf, EngineMachine, refuseOtherNamespace } from './engine/engine-machine.ts';
import { GpuDevices } from './gpus/gpu-devices.ts';
import { EngineImages } from './images/engine-images.ts';
import { BridgeNetwork, networkFor } from './network/bridge-network.ts';
import { EgressGuard } from './network/egress-guard.ts';
import { EngineGroupNetworks } from './network/group-networks.ts';
import { PreparedNetworks } from './network/prepared-networks.ts';
import { readContainerLogs, readLastLines } from './streams/container-logs.ts';
import { runInContainer } from './streams/run-in-container.ts';

export interface DockerRuntimeOptions {
  /** Default: DOCKER_HOST, else the usual socket. */
  socketPath?: string;
  installation: string;
  /** Simulated: pool → number of GPUs. Else the real ones. */
  gpus: ReadonlyMap<string, number> | GpuInventory;
  describePool?: DescribePool;
  /** The bridge network, shared by all installations on the engine. Default `podyard`. */
  network?: string;
  /** The networks that workloads can reach, once `egress` was started. Default: everything. */
  egress?: EgressSettings;
  /** The address of this machine on which TCP ports are published. Default 127.0.0.1. */
  publishIp?: string;
  /** How many networks to have ready for workers, once one was started. Default 0. */
  preparedNetworks?: number;
  /** Mirrors of registries. */
  mirrors?: RegistryMirrors;
  /** Records which images are private. Without it only this process knows. */
  stateDir?: string;
  /** How long a registry's answer about credentials is cached. Default 5 minutes. */
  accessTtlMs?: number;
  logger: Logger;
}

const UNLIMITED: EgressSettings = { mode: 'all', allow: [], isExplicit: false };

/** The operator's view of a runtime on a container engine, beside what all runtimes have. */
export interface EngineRuntime extends Runtime {
  readonly egress: EgressGuard;
  /** A notice to operators about the disks of containers; null when the engine limits them. */
  diskNotice(): Promise<string | null>;
}

/** Makes no request to the engine before the first call. */
export function createDockerRuntime(options: DockerRuntimeOptions): EngineRuntime {
  return new DockerRuntime(options);
}

class DockerRuntime implements EngineRuntime {
  readonly name = 'docker';
  readonly egress: EgressGuard;
  readonly capabilities = { gpu: true, freeze: 'freezer' as const, volumes: true, logs: true, isolation: true };
  readonly gpuSleep: GpuLending;
  readonly disks: DiskMeter;
  readonly evictions = null;
  readonly groups: EngineGroupNetworks;
  readonly #options: DockerRuntimeOptions;
  readonly #engine: Engine;
  readonly #containers: Containers;
  readonly #parts: StartParts;
  /** Its gateway has the worker API, whatever network the settings choose: running workers know no other address. */
  readonly #apiNetwork: BridgeNetwork;
  readonly #gpus: GpuDevices;
  readonly #freezer: ContainerFreezer;
  readonly #prepared: PreparedNetworks;
  readonly #whereabouts: ContainerWhereabouts;
  readonly #observed: ObservedContainers;
  readonly #starts = new InFlight<Whereabouts>();
  readonly #closed = new AbortController();

  constructor(options: DockerRuntimeOptions) {
    const { installation, gpus, logger } = options;
    this.#options = options;
    this.#engine = new Engine(options.socketPath);
    this.#containers = new Containers(this.#engine, installation);
    this.disks = containerDisks(this.#containers);
    this.#freezer = new ContainerFreezer(this.#containers);
    this.groups = new EngineGroupNetworks(this.#engine, installation, logger);
    const base = options.network ?? 'podyard';
    const settings = options.egress ?? UNLIMITED;
    this.#apiNetwork = new BridgeNetwork(this.#engine, base, logger);
    const name = options.egress ? networkFor(base, options.egress) : base;
    const network = name === base ? this.#apiNetwork : new BridgeNetwork(this.#engine, name, logger);
    const [engine, containers] = [this.#engine, this.#containers];
    this.egress = new EgressGuard({ engine, containers, network, settings, installation, logger });
    this.gpuSleep = new GpuLending({
      devicesOf: () => this.#gpus.devicesOf(),
      pidsOf: (id) => this.#containers.listPids(id),
      sharesOf: (uuid) => this.#gpus.sharesOf(uuid),
      simulated: gpus instanceof GpuInventory ? null : NO_REAL_GPUS,
    });
    this.#gpus = new GpuDevices(this.#containers, gpus, options.describePool ?? describePool, this.gpuSleep);
    const shared = {
      installation,
      engine,
      containers,
      network,
      egress: this.egress,
      machine: new EngineMachine(engine),
      logger,
    };
    this.#prepared = new PreparedNetworks({ ...shared, count: options.preparedNetworks ?? 0 });
    this.#parts = {
      ...shared,
      prepared: this.#prepared,
      groups: this.groups,
      images: new EngineImages(this.#engine, options),
      gpus: this.#gpus,
      publishIp: options.publishIp ?? '127.0.0.1',
    };
    this.#whereabouts = new ContainerWhereabouts(this.#containers, network.name);
    this.#observed = new ObservedContainers(this.#engine, this.#containers, this.#freezer, network.name);
  }

  async workerApiAddress(): Promise<{ bind: string; host: string }> {
    await refuseOtherNamespace(this.#engine, this.#parts.machine);
    const { gateway } = await this.#apiNetwork.ensure();
    return { bind: gateway, host: gateway };
  }

  async diskNotice(): Promise<string | null> {
    return diskNoticeOf(await this.#parts.machine.read());
  }

  async capacity(): Promise<Capacity> {
    const [{ memoryBytes, cpus }, gpus] = await Promise.all([this.#parts.machine.read(), this.#gpus.capacity()]);
    return { memoryBytes, cpus, ...gpus };
  }

  prepare(image: string, options: PrepareOptions = {}): Promise<ImageIdentity> {
    return this.#parts.images.prepare(image, options);
  }

  admitImage(image: string, auth?: RegistryAuth): Promise<void> {
    return this.#parts.images.admit(image, auth);
  }

  start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    return this.#starts.run(spec.id, async () => {
      const gpus = await this.#gpus.choose(spec);
      try {
        const { isNew, address } = await startContainer(this.#parts, spec, gpus, options);
        if (isNew) {
          this.#observed.recordStart(spec.id);
          options.onProgress?.('Container started');
        }
        return await this.#locate(spec, address);
      } catch (error) {
        this.#gpus.release(spec.id);
        this.#gpus.suspect(gpus);
        throw error;
      }
    });
  }

  async memoryBytes(id: string): Promise<number> {
    try {
      const container = this.#containers.nameOf(id);
      const { Id, State } = await this.#containers.inspect(container);
      return (await readCgroupMemory(Id, State.Pid)) ?? (await readMemory(this.#engine, container));
    } catch (error) {
      if (isRefusal(error, 404)) throw notFound('Workload');
      throw error;
    }
  }

  async reach(id: string, port: number): Promise<{ host: string; port: number } | null> {
    const address = await this.#whereabouts.addressOf(id);
    return address === null ? null : { host: address, port };
  }

  async stats(id: string): Promise<WorkloadStats | null> {
    const container = this.#containers.nameOf(id);
    try {
      const details = await this.#containers.inspect(container);
      const { State, HostConfig, Config } = details;
      if (State.Status !== 'running' || (await this.#freezer.isFrozen(details))) return null;
      const usage = await readUsage(this.#engine, container, HostConfig.NanoCpus / 1e9);
      const devices = Config.Labels[LABELS.gpuDevices]?.split(',');
      const gpus = devices ? await readGpuUsage(devices) : idleGpus(gpuOf(Config.Labels));
      return usage && { ...usage, gpus };
    } catch (error) {
      if (isRefusal(error, 404) || isRefusal(error, 409)) return null;
      throw error;
    }
  }

  freeze(id: string): Promise<void> {
    return this.#freezer.freeze(id);
  }

  thaw(id: string): Promise<void> {
    return this.#freezer.thaw(id);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#starts.settled(id);
    const network = await this.#prepared.of(id);
    try {
      if (graceMs > 0) {
        await this.#freezer.release(id);
        await this.#containers.stop(id, Math.ceil(graceMs / 1000));
      }
      await this.#remove(id);
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
    }
    if (network !== null) this.#prepared.free(id, network);
    this.#observed.forget(id);
    this.#freezer.forget(id);
    this.#gpus.release(id);
    this.gpuSleep.forget(id);
    this.#whereabouts.forget(id);
  }

  async list(): Promise<Observed[]> {
    return this.#gpus.withLosses(await this.#observed.list());
  }

  async *logs(id: string, options: LogsOptions): AsyncGenerator<LogLine> {
    yield* readContainerLogs(this.#engine, this.#containers.nameOf(id), options);
  }

  lastOutput(id: string, count: number): Promise<string[]> {
    return readLastLines(this.#engine, this.#containers.nameOf(id), count);
  }

  /** In a container that the kernel froze the engine would begin it, and wait. */
  async exec(id: string, request: ExecRequest): Promise<Execution> {
    const container = this.#containers.nameOf(id);
    const details = await this.#containers.inspect(container).catch(() => null); // the engine says the same once more
    if (details && (await this.#freezer.isFrozen(details))) throw notRunning('frozen');
    return runInContainer(this.#engine, container, request);
  }

  watch(onEvent: OnEvent, onReturn: () => void = () => {}): () => void {
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#closed.signal]);
    const { installation, logger } = this.#options;
    void watchContainers(this.#engine, { installation, onEvent, onReturn, ended: signal, logger });
    return () => ended.abort();
  }

  imageDisk() {
    return this.#parts.machine.imageDisk();
  }

  expectStarts(): void {
    this.#prepared.begin();
  }

  tidy(): Promise<void> {
    return this.#prepared.tidy();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    try {
      await this.#prepared.close();
      await this.egress.stop(); // last: its rules and network stay while a container uses them
    } finally {
      await this.#engine.close();
    }
  }

  /** A frozen one does not run again before it is killed, unless the engine cannot kill it like that: old ones wait for the thaw. */
  async #remove(id: string): Promise<void> {
    try {
      await this.#containers.remove(id);
    } catch (error) {
      if (isRefusal(error, 404)) throw error;
      await this.#freezer.release(id);
      await this.#containers.remove(id);
    }
  }

  /** Asks the engine only where the answer is not known. */
  async #locate(spec: WorkloadSpec, address: string | null): Promise<Whereabouts> {
    if (address === null || (spec.kind === 'pod' && spec.ports.some((port) => port.endsWith('/tcp'))))
      return this.#whereabouts.find(spec.id);
    this.#whereabouts.set(spec.id, address);
    return { address, publishedPorts: spec.ports.map((port) => ({ ...parsePort(port), public: null, ip: null })) };
  }
}
