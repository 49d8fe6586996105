import { InFlight } from '../in-flight.ts';
import type { WorkloadStats } from '../runtime.ts';
import { ApiError } from './api-server.ts';
import type { ClusterView } from './cluster-view.ts';
import { amountOf, type Quantities } from './objects.ts';
import type { PodRecord } from './pod-record.ts';

interface Usage {
  cpus: number;
  memoryBytes: number;
}

/** The members used of `PodMetrics`. */
interface PodMetrics {
  containers?: { usage?: Quantities }[];
}

/** The members used of a kubelet's summary. */
interface Summary {
  pods?: {
    podRef: { uid: string };
    containers?: { cpu?: { usageNanoCores?: number }; memory?: { workingSetBytes?: number } }[];
    volume?: { usedBytes?: number; pvcRef?: { name: string; namespace: string } }[];
  }[];
}

/** What is not there, or not for us to see, is asked for again after this time. */
const MISSING_MS = 300_000;
/** Kubelets measure every ten seconds or so. */
const SUMMARY_MS = 3_000;
const TIMEOUT_MS = 5_000;

/**
 * What pods use: by the metrics API where a cluster has one, else by their node's kubelet if we may ask it; null where
 * nobody tells.
 */
export class PodUsage {
  readonly #cluster: ClusterView;
  readonly #missingUntil = { metrics: 0, summary: 0 };
  readonly #summaries = new Map<string, { at: number; summary: Summary }>();
  readonly #reads = new InFlight<Summary>();

  constructor(cluster: ClusterView) {
    this.#cluster = cluster;
  }

  async of(pod: PodRecord): Promise<Usage | null> {
    return (await this.#byMetrics(pod)) ?? (await this.#bySummary(pod));
  }

  /** What a claim holds, by the node of a pod that mounts it. */
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
    const usage = metrics?.containers?.[0]?.usage;
    return usage ? { cpus: amountOf(usage.cpu), memoryBytes: amountOf(usage.memory) } : null;
  }

  async #bySummary(pod: PodRecord): Promise<Usage | null> {
    const summary = await this.#summary(pod);
    const container = summary?.pods?.find(({ podRef }) => podRef.uid === pod.uid)?.containers?.[0];
    const memoryBytes = container?.memory?.workingSetBytes;
    if (memoryBytes === undefined) return null;
    return { cpus: (container?.cpu?.usageNanoCores ?? 0) / 1e9, memoryBytes };
  }

  async #summary({ nodeName }: PodRecord): Promise<Summary | null> {
    if (nodeName === null) return null;
    const known = this.#summaries.get(nodeName);
    if (known && performance.now() - known.at < SUMMARY_MS) return known.summary;
    const path = `/api/v1/nodes/${nodeName}/proxy/stats/summary`;
    const read = () => this.#cluster.api.json<Summary>({ method: 'GET', path, timeoutMs: TIMEOUT_MS });
    const summary = await this.#ask('summary', () => this.#reads.run(nodeName, read));
    if (this.#summaries.size > 1_000) this.#summaries.clear();
    if (summary) this.#summaries.set(nodeName, { at: performance.now(), summary });
    return summary;
  }

  /** Null when it cannot be had; then it is not asked for again for a while, unless it is this pod that is not known. */
  async #ask<T>(what: 'metrics' | 'summary', read: () => Promise<T>): Promise<T | null> {
    if (performance.now() < this.#missingUntil[what]) return null;
    try {
      return await read();
    } catch (error) {
      const isAbout = error instanceof ApiError && error.status === 404 && /"podyard-/.test(error.message);
      if (!isAbout && error instanceof ApiError) this.#missingUntil[what] = performance.now() + MISSING_MS;
      return null;
    }
  }
}

/** In percent of what it may use. */
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
