import { Failure } from '../../../core/errors.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import { ApiError, MERGE_PATCH, STRATEGIC_PATCH } from '../api/api-server.ts';
import type { ApiObject } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { isEnded } from './observed-pod.ts';
import { ANNOTATIONS, CONTAINER, type PodRecord } from './pod-record.ts';

/** Enough for a worker's heartbeats. */
const PARKED_CPUS = 0.05;
/** How long a thaw waits for the CPU. A node that has it confirms sooner; a slower one may still give it later. */
const RESIZE_MS = 700;

/**
 * Parks workloads where no freezer is available: marks them as parked and takes as much CPU from them as the cluster
 * allows. Kubernetes 1.33 and later can resize running containers.
 */
export class Parking {
  readonly #cluster: ClusterView;
  #canResize: Promise<boolean> | undefined;

  constructor(cluster: ClusterView) {
    this.#cluster = cluster;
  }

  async park(id: string): Promise<void> {
    const pod = await this.#find(id);
    if (pod.isParked) return;
    await this.#mark(pod, new Date().toISOString());
    if (await this.#isResizable(pod)) await this.#resize(pod, Math.min(PARKED_CPUS, pod.cpus!));
  }

  /** Rejects when the node has given the CPU to another pod meanwhile. */
  async unpark(id: string): Promise<void> {
    const pod = await this.#find(id);
    if (!pod.isParked) return;
    if (await this.#isResizable(pod)) {
      await this.#resize(pod, pod.cpus!);
      await this.#awaitCpus(pod);
    }
    await this.#mark(pod, null);
  }

  async #find(id: string): Promise<PodRecord> {
    const pod = await this.#cluster.getPod(id);
    if (isEnded(pod) || pod.isDeleting || this.#cluster.lostSince(pod) !== null) {
      throw new Failure('conflict', `Workload ${id} has ended`);
    }
    if (pod.runningSince === null) throw new Failure('conflict', `Workload ${id} does not run yet`);
    return pod;
  }

  async #mark(pod: PodRecord, parked: string | null): Promise<void> {
    const body = { metadata: { uid: pod.uid, annotations: { [ANNOTATIONS.parked]: parked } } };
    await this.#patch(pod, undefined, body, MERGE_PATCH);
  }

  /** Changes requests with limits: their ratio must stay. */
  async #resize(pod: PodRecord, cpus: number): Promise<void> {
    const amount = (share: number) => ({ cpu: `${Math.round(cpus * share * 1000)}m` });
    const resources = { requests: amount(pod.cpuRequestShare), limits: amount(1) };
    await this.#patch(pod, 'resize', { spec: { containers: [{ name: CONTAINER, resources }] } }, STRATEGIC_PATCH);
  }

  async #patch(pod: PodRecord, subresource: string | undefined, body: object, contentType: string): Promise<void> {
    const path = this.#cluster.path('pods', pod.key, subresource);
    try {
      this.#cluster.pods.put(await this.#cluster.api.json<ApiObject>({ method: 'PATCH', path, body, contentType }));
    } catch (error) {
      if (isRefusal(error, 404) || isRefusal(error, 409)) throw new Failure('conflict', `Workload ${pod.id} has ended`);
      if (!(error instanceof ApiError)) throw error;
      throw new Failure('unavailable', `The cluster refused to change pod ${pod.key}: ${error.message}`, {
        cause: error,
      });
    }
  }

  async #awaitCpus(pod: PodRecord): Promise<void> {
    const deadline = performance.now() + RESIZE_MS;
    await this.#cluster.until(pod, (now) => {
      if (!now) throw new Failure('conflict', `Workload ${pod.id} has ended`);
      if (now.resizeProblem !== null) {
        throw new Failure('unavailable', `The node has no ${pod.cpus} CPUs left (${now.resizeProblem})`);
      }
      return now.grantedCpus === pod.cpus || performance.now() >= deadline || undefined;
    });
  }

  /** Only a pod with a CPU limit can be resized. */
  async #isResizable(pod: PodRecord): Promise<boolean> {
    if (pod.cpus === null) return false;
    this.#canResize ??= this.#hasResize().catch((error) => {
      this.#canResize = undefined;
      throw error;
    });
    return this.#canResize;
  }

  async #hasResize(): Promise<boolean> {
    const { resources } = await this.#cluster.api.json<{ resources: { name: string }[] }>({
      method: 'GET',
      path: '/api/v1',
    });
    return resources.some(({ name }) => name === 'pods/resize');
  }
}
