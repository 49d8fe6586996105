import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { InFlight } from '../../../core/flow/in-flight.ts';
import type { WorkloadStats } from '../../runtime.ts';
import { ApiError, ApiServer } from '../api/api-server.ts';
import { amountOf, type Quantities } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { CONTAINER, type PodRecord } from './pod-record.ts';

interface Usage {
  cpus: number;
  memoryBytes: number;
}

/** The members used of `PodMetrics`. */
interface PodMetrics {
  containers?: { name: string; usage?: Quantities }[];
}

/** The members used of a kubelet's summary. */
interface Summary {
  pods?: {
    podRef: { uid: string };
    containers?: { name: string; cpu?: { usageNanoCores?: number }; memory?: { workingSetBytes?: number } }[];
    volume?: { usedBytes?: number; pvcRef?: { name: string; namespace: string } }[];
  }[];
}

/** How long an API that is missing or forbidden is not asked again. */
const MISSING_MS = 300_000;
/** How long a summary is cached; kubelets measure about every ten seconds. */
const SUMMARY_MS = 3_000;
const TIMEOUT_MS = 5_000;
const MAX_CACHED = 1_000;

/**
 * Usage of pods, from the metrics API, else from the kubelet of their node if allowed; null where neither has it.
 *
 * A kubelet is asked directly, which needs the right `nodes/stats` and a certificate of the cluster's authority, so that our
 * token reaches no other server. If that fails, it is asked through the API server, which needs `nodes/proxy`: full access to the node.
 */
export class PodUsage {
  readonly #cluster: ClusterView;
  readonly #clock: Clock;
  readonly #missingUntil = { metrics: 0, summary: 0 };
  readonly #summaries = new BoundedMap<string, { at: number; summary: Summary }>(MAX_CACHED);
  readonly #reads = new InFlight<Summary | null>();
  /** Until when a kubelet is not asked itself, by node. */
  readonly #silentUntil = new BoundedMap<string, number>(MAX_CACHED);

  constructor(cluster: ClusterView, clock: Clock = monotonicClock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  async of(pod: PodRecord): Promise<Usage | null> {
    return (await this.#byMetrics(pod)) ?? (await this.#bySummary(pod));
  }

  /** Bytes in use of a claim, from the node of a pod that mounts it. */
  async claimBytes(claim: string): Promise<number | null> {
    const pod = [...this.#cluster.pods.all()].find((one) => one.claims.includes(claim) && one.runningSince);
    const { pods = [] } = (pod && (await this.#summary(pod))) || {};
    const volumes = pods.flatMap(({ volume = [] }) => volume);
    const { namespace } = this.#cluster;
    const found = volumes.find(({ pvcRef }) => pvcRef?.name === claim && pvcRef.namespace === namespace);
    return found?.usedBytes ?? null;
  }

  async #byMetrics(pod: PodRecord): Promise<Usage | null> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${this.#cluster.namespace}/pods/${pod.key}`;
    const metrics = await this.#ask('metrics', () =>
      this.#cluster.api.json<PodMetrics>({ method: 'GET', path, timeoutMs: TIMEOUT_MS }),
    );
    const usage = metrics?.containers?.find(({ name }) => name === CONTAINER)?.usage;
    return usage ? { cpus: amountOf(usage.cpu), memoryBytes: amountOf(usage.memory) } : null;
  }

  async #bySummary(pod: PodRecord): Promise<Usage | null> {
    const summary = await this.#summary(pod);
    const found = summary?.pods?.find(({ podRef }) => podRef.uid === pod.uid);
    const container = found?.containers?.find(({ name }) => name === CONTAINER);
    const memoryBytes = container?.memory?.workingSetBytes;
    if (memoryBytes === undefined) return null;
    return { cpus: (container?.cpu?.usageNanoCores ?? 0) / 1e9, memoryBytes };
  }

  async #summary({ nodeName }: PodRecord): Promise<Summary | null> {
    if (nodeName === null) return null;
    const known = this.#summaries.get(nodeName);
    if (known && this.#clock.now() - known.at < SUMMARY_MS) return known.summary;
    const summary = await this.#reads.run(
      nodeName,
      async () => (await this.#fromKubelet(nodeName)) ?? (await this.#throughApiServer(nodeName)),
    );
    if (summary) this.#summaries.set(nodeName, { at: this.#clock.now(), summary });
    return summary;
  }

  /** Returns null on failure, and does not ask that kubelet for a while. */
  async #fromKubelet(nodeName: string): Promise<Summary | null> {
    const { internalIp, kubeletPort } = this.#cluster.nodes.get(nodeName) ?? {};
    if (!internalIp || this.#clock.now() < (this.#silentUntil.get(nodeName) ?? 0)) return null;
    const host = internalIp.includes(':') ? `[${internalIp}]` : internalIp;
    try {
      const access = await this.#cluster.api.access();
      if (access.server.protocol !== 'https:') return null;
      const kubelet = new ApiServer(async () => ({ ...access, server: new URL(`https://${host}:${kubeletPort}`) }));
      return await kubelet.json<Summary>({ method: 'GET', path: '/stats/summary', timeoutMs: TIMEOUT_MS });
    } catch {
      this.#silentUntil.set(nodeName, this.#clock.now() + MISSING_MS);
      return null;
    }
  }

  #throughApiServer(nodeName: string): Promise<Summary | null> {
    const path = `/api/v1/nodes/${nodeName}/proxy/stats/summary`;
    return this.#ask('summary', () => this.#cluster.api.json<Summary>({ method: 'GET', path, timeoutMs: TIMEOUT_MS }));
  }

  /** Returns null on failure. Then pauses requests to that API, unless it merely does not know this pod. */
  async #ask<T>(what: 'metrics' | 'summary', read: () => Promise<T>): Promise<T | null> {
    if (this.#clock.now() < this.#missingUntil[what]) return null;
    try {
      return await read();
    } catch (error) {
      const isAboutPod = error instanceof ApiError && error.status === 404 && /"podyard-/.test(error.message);
      if (!isAboutPod && error instanceof ApiError) this.#missingUntil[what] = this.#clock.now() + MISSING_MS;
      return null;
    }
  }
}

/** In percent of what the workload may use. */
export function statsOf(usage: Usage, allowed: Usage, gpus: WorkloadStats['gpus']): WorkloadStats {
  return {
    cpuUtil: percent(usage.cpus, allowed.cpus),
    memoryUtil: percent(usage.memoryBytes, allowed.memoryBytes),
    gpus,
  };
}

function percent(part: number, whole: number): number {
  return whole > 0 ? Math.min(100, Math.max(0, Math.round((part / whole) * 1000) / 10)) : 0;
}
