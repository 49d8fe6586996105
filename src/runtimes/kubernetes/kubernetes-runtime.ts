/**
 * Workloads as bare pods of a Kubernetes cluster, 1.28 or later (features newer than 1.20 have a fallback). The cluster
 * keeps all state: labels mark our pods, so that a restarted Podyard finds them again. State is read by watches
 * (reflector.ts, docs/decisions/0025); requests are made only for changes.
 */

import type { KubernetesSettings } from '../../config/kubernetes-settings.ts';
import { InFlight } from '../../core/flow/in-flight.ts';
import { Semaphore } from '../../core/flow/semaphore.ts';
import type { Logger } from '../../core/logger.ts';
import type { BuildRegistry } from '../../domain/images/build-registry.ts';
import { digestIn, type ImageIdentity, identityIn } from '../../domain/images/image-identity.ts';
import { isRefusal } from '../../engine/refusal.ts';
import { type ExecRequest, type Execution, notRunning } from '../execution.ts';
import { type DescribePool, describePool, gpuCapacity, idleGpus } from '../gpu-pools.ts';
import type {
  AheadImage,
  Capacity,
  LogLine,
  LogsOptions,
  Observed,
  OnEvent,
  PrepareOptions,
  Runtime,
  StartOptions,
  Whereabouts,
  WorkloadSpec,
  WorkloadStats,
  WorkloadStorage,
} from '../runtime.ts';
import { ApiOutage } from './api/api-outage.ts';
import { ApiServer } from './api/api-server.ts';
import { accessOf, type ClusterAccess, ownAddress } from './api/cluster-access.ts';
import type { Timing } from './api/reflector.ts';
import { GroupServices } from './network/group-services.ts';
import { PodServices } from './network/pod-services.ts';
import { NodePulls } from './nodes/node-pulls.ts';
import { clusterCapacity } from './nodes/nodes.ts';
import { asPulled } from './pods/as-pulled.ts';
import { ClaimStorage } from './pods/claim-storage.ts';
import { ClusterView } from './pods/cluster-view.ts';
import { DisruptionBudgets } from './pods/disruption-budgets.ts';
import { identityOf } from './pods/image-identity.ts';
import { ModelNodes } from './pods/model-nodes.ts';
import { observe, RemovedPods, stateOf } from './pods/observed-pod.ts';
import { Parking } from './pods/parking.ts';
import { PodEvents } from './pods/pod-events.ts';
import { nameOf } from './pods/pod-place.ts';
import type { PodRecord } from './pods/pod-record.ts';
import { PodUsage, statsOf } from './pods/pod-usage.ts';
import { RegistrySecrets } from './pods/registry-secrets.ts';
import { startPod } from './pods/start-pod.ts';
import { PodLogs } from './streams/pod-logs.ts';
import { PodPrograms } from './streams/run-in-pod.ts';

export interface KubernetesRuntimeOptions {
  settings: KubernetesSettings;
  installation: string;
  /** Simulated: pool → number of GPUs. Null: those of the cluster's nodes. */
  gpus?: ReadonlyMap<string, number> | null;
  /** Where nodes pull the images that this installation has built; null: it builds none. */
  builtImages?: BuildRegistry | null;
  describePool?: DescribePool;
  logger: Logger;
  /** Default: what the settings name. */
  access?: () => Promise<ClusterAccess>;
  timing?: Partial<Timing>;
}

/** Created once the cluster can be reached. */
interface Parts {
  cluster: ClusterView;
  events: PodEvents;
  services: PodServices;
  registries: RegistrySecrets;
  parking: Parking;
  logs: PodLogs;
  usage: PodUsage;
  createSlots: Semaphore;
  nodePulls: NodePulls;
}

/** Pods created concurrently, each with its Secret. More are not faster, and starve other requests. */
const CONCURRENT_CREATES = 16;

/** Makes no request before the first call, and writes only for starts, stops, freezes and the like. */
export function createKubernetesRuntime(
  options: KubernetesRuntimeOptions,
): Runtime & { readonly storage: WorkloadStorage } {
  return new KubernetesRuntime(options);
}

class KubernetesRuntime implements Runtime {
  readonly name = 'kubernetes';
  readonly capabilities = { gpu: true, freeze: 'parked', volumes: true, logs: true, isolation: true } as const;
  /** The device plugin gives GPUs to a pod until it ends. */
  readonly gpuSleep = null;
  readonly disks = null;
  readonly evictions: DisruptionBudgets;
  readonly storage: WorkloadStorage;
  readonly groups: GroupServices;
  readonly #options: KubernetesRuntimeOptions;
  readonly #api: ApiServer;
  readonly #programs: PodPrograms;
  readonly #starts = new InFlight<Whereabouts>();
  /** Cancels starts in progress. */
  readonly #aborts = new Map<string, AbortController>();
  readonly #listeners = new Set<OnEvent>();
  readonly #outage: ApiOutage;
  readonly #removed = new RemovedPods();
  readonly #modelNodes = new ModelNodes();
  #parts: Promise<Parts> | undefined;
  #isClosed = false;

  constructor(options: KubernetesRuntimeOptions) {
    this.#options = options;
    const { settings, installation, logger, gpus = null } = options;
    this.#outage = new ApiOutage({ logger });
    this.#api = new ApiServer(options.access ?? (() => accessOf(settings)), this.#outage);
    this.#programs = new PodPrograms(this.#api);
    const view = async () => (await this.#open()).cluster;
    this.groups = new GroupServices(view, installation);
    this.evictions = new DisruptionBudgets(view, installation);
    this.storage = new ClaimStorage({
      ...{ api: this.#api, view, settings, installation, areGpusSimulated: gpus !== null },
      usedBytes: async (claim) => (await this.#open()).usage.claimBytes(claim),
    });
  }

  async workerApiAddress(): Promise<{ bind: string; host: string; own?: string }> {
    const { workerApiHost, inCluster } = this.#options.settings;
    const own = await ownAddress((await this.#api.access()).server);
    const isOpen = inCluster !== null || workerApiHost !== null;
    return { bind: isOpen ? '0.0.0.0' : own, host: workerApiHost ?? own, ...(inCluster && { own }) };
  }

  async capacity(): Promise<Capacity> {
    const { cluster } = await this.#open();
    await Promise.all([cluster.nodes.current(), cluster.pods.current()]);
    const held = [...cluster.pods.all()].filter((pod) => this.#stateOf(cluster, pod) !== 'exited');
    const { gpus = null, describePool: describe = describePool } = this.#options;
    if (gpus !== null) {
      const pools = gpuCapacity(gpus, held.map(({ gpu }) => gpu), describe); // biome-ignore format: one thing
      return { ...clusterCapacity(cluster.nodes.all(), [], []), gpus: pools };
    }
    const own = held.flatMap(({ nodeName, gpu }) => (nodeName && gpu ? { nodeName, count: gpu.count } : []));
    return clusterCapacity(await cluster.nodesWithGpus(), own, await cluster.foreignGpus());
  }

  /** Does nothing: the node pulls when a pod starts, and then reports what the name stands for, unless the name fixes it. */
  async admitImage(): Promise<void> {}

  async prepare(image: string, { pinned }: PrepareOptions = {}): Promise<ImageIdentity | null> {
    const digest = digestIn(image);
    return pinned ?? (digest === null ? null : identityIn(image, digest));
  }

  async start(spec: WorkloadSpec, options: StartOptions = {}): Promise<Whereabouts> {
    nameOf(spec.id);
    return this.#starts.run(spec.id, async () => {
      const { installation, gpus = null } = this.#options;
      const parts = await this.#open();
      const abort = new AbortController();
      this.#aborts.set(spec.id, abort);
      this.#removed.forget(spec.id);
      try {
        const modelNodes = this.#modelNodes;
        const starter = { ...parts, installation, modelNodes, areGpusSimulated: gpus !== null };
        const signal = options.signal ? AbortSignal.any([abort.signal, options.signal]) : abort.signal;
        const pulled = asPulled(spec, this.#options);
        const pod = await startPod(starter, { ...spec, ...pulled }, options, signal);
        const { address, publishedPorts } = this.#observe(parts, pod);
        const found = identityOf(pulled.image, pod.imageId);
        const image = found && identityIn(spec.image, found.digest);
        return { address, publishedPorts, ...(image && { image }) };
      } finally {
        this.#aborts.delete(spec.id);
      }
    });
  }

  async pullAhead(wanted: AheadImage, signal: AbortSignal): Promise<boolean> {
    return (await this.#open()).nodePulls.pullAhead({ ...wanted, ...asPulled(wanted, this.#options) }, signal);
  }

  /** Uses the last known state while the API server is away: pods keep running. */
  async reach(id: string, port: number): Promise<{ host: string; port: number } | null> {
    const { cluster } = await this.#open();
    const known = cluster.pods.isKnown ? cluster.pods.get(nameOf(id)) : undefined;
    const pod = known ?? (await cluster.findPod(id));
    if (!pod || pod.address === null || pod.runningSince === null) return null;
    return this.#stateOf(cluster, pod) === 'exited' ? null : { host: pod.address, port };
  }

  async stats(id: string): Promise<WorkloadStats | null> {
    const { cluster, usage } = await this.#open();
    const pod = await cluster.findPod(id);
    if (!pod || !this.#isUp(cluster, pod)) return null;
    const used = await usage.of(pod);
    const node = cluster.nodes.get(pod.nodeName ?? '');
    const allowed = {
      cpus: pod.cpus ?? node?.cpus ?? 0,
      memoryBytes: pod.memoryBytes ?? node?.memoryBytes ?? 0,
    };
    return statsOf(used ?? { cpus: 0, memoryBytes: 0 }, allowed, idleGpus(pod.gpu));
  }

  async memoryBytes(id: string): Promise<number> {
    const { cluster, usage } = await this.#open();
    const pod = await cluster.getPod(id);
    return (await usage.of(pod))?.memoryBytes ?? pod.memoryBytes ?? 0;
  }

  async freeze(id: string): Promise<void> {
    await (await this.#open()).parking.park(id);
  }

  async thaw(id: string): Promise<void> {
    await (await this.#open()).parking.unpark(id);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    this.#aborts.get(id)?.abort();
    const { cluster } = await this.#open();
    const graceSeconds = Math.max(1, Math.ceil(graceMs / 1000));
    let pod = await cluster.findPod(id);
    if (pod) await cluster.remove(pod, graceSeconds);
    await this.#starts.settled(id);
    pod = cluster.pods.get(nameOf(id));
    if (pod) await cluster.remove(pod, graceSeconds);
    this.#removed.forget(id);
  }

  async list(): Promise<Observed[]> {
    const parts = await this.#open();
    const { cluster, services, registries } = parts;
    await Promise.all([cluster.pods.current(), this.#nodesIfAllowed(cluster)]);
    await services.current();
    registries.sweepSometimes();
    const observed = [...cluster.pods.all()].map((pod) => this.#observe(parts, pod));
    return [...observed, ...this.#removed.list((id) => cluster.pods.get(nameOf(id)) !== undefined)];
  }

  async *logs(id: string, options: LogsOptions): AsyncGenerator<LogLine> {
    yield* (await this.#open()).logs.read(id, options);
  }

  async lastOutput(id: string, count: number): Promise<string[]> {
    return (await this.#open()).logs.last(id, count);
  }

  async exec(id: string, request: ExecRequest): Promise<Execution> {
    const { cluster } = await this.#open();
    const pod = await cluster.getPod(id);
    const state = this.#stateOf(cluster, pod);
    if (state !== 'running') throw notRunning(state);
    return this.#programs.run(cluster.path('pods', nameOf(id)), pod.uid, request);
  }

  watch(onEvent: OnEvent, onReturn?: () => void): () => void {
    this.#listeners.add(onEvent);
    const unsubscribe = onReturn && this.#outage.subscribe(onReturn);
    this.#open().then(
      ({ cluster }) => {
        cluster.pods.start();
        cluster.nodes.start();
      },
      () => {}, // `list` reports it
    );
    return () => {
      this.#listeners.delete(onEvent);
      unsubscribe?.();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const parts = await this.#parts?.catch(() => undefined);
    for (const one of [parts?.cluster, parts?.services, parts?.events]) one?.close();
    await this.#api.close();
  }

  #open(): Promise<Parts> {
    this.#parts ??= this.#makeParts().catch((error) => {
      this.#parts = undefined;
      throw error;
    });
    return this.#parts;
  }

  async #makeParts(): Promise<Parts> {
    const { settings, installation, logger, timing, gpus } = this.#options;
    const api = this.#api;
    const namespace = settings.namespace ?? (await api.access()).namespace ?? 'default';
    const cluster = new ClusterView({ api, namespace, settings, installation, logger, ...(timing && { timing }) });
    const more = { cluster, installation, logger };
    const registries = new RegistrySecrets(more);
    cluster.pods.subscribe((kind, pod, before) => this.#onChange(cluster, kind, pod, before));
    cluster.onLost(({ id }) => this.#notify(id));
    if (this.#isClosed) cluster.close();
    return {
      cluster,
      events: new PodEvents({ api, path: cluster.path('events'), logger }),
      services: new PodServices(more),
      registries,
      nodePulls: new NodePulls({ ...more, registries, areGpusSimulated: (gpus ?? null) !== null }),
      parking: new Parking(cluster),
      logs: new PodLogs(cluster),
      usage: new PodUsage(cluster),
      createSlots: new Semaphore(CONCURRENT_CREATES),
    };
  }

  /** Without permission to see nodes, everything works except noticing that one was lost. */
  async #nodesIfAllowed(cluster: ClusterView): Promise<void> {
    await cluster.nodes.current().catch((error) => {
      if (!isRefusal(error, 403)) throw error;
    });
  }

  #observe({ cluster, services }: Parts, pod: PodRecord): Observed {
    return observe(pod, cluster.lostSince(pod), () => services.portsOf(pod));
  }

  #stateOf(cluster: ClusterView, pod: PodRecord) {
    return stateOf(pod, cluster.lostSince(pod));
  }

  #isUp(cluster: ClusterView, pod: PodRecord): boolean {
    const state = this.#stateOf(cluster, pod);
    return state === 'running' || state === 'frozen';
  }

  #onChange(cluster: ClusterView, kind: 'put' | 'gone', pod: PodRecord, before: PodRecord | undefined): void {
    if (kind === 'put') {
      const isNews = before && this.#stateOf(cluster, before) !== this.#stateOf(cluster, pod);
      if (isNews) this.#notify(pod.id);
      return;
    }
    if (pod.disruption !== null && this.#listeners.size > 0) this.#removed.add(pod);
    this.#notify(pod.id);
  }

  #notify(id: string): void {
    for (const listener of [...this.#listeners]) listener(id);
  }
}
