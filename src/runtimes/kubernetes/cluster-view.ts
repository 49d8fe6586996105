/** The cluster as the runtime sees it: our pods and their nodes, kept up to date from the first question on. */

import { Failure, notFound } from '../../core/errors.ts';
import type { KubernetesSettings } from '../../core/kubernetes-settings.ts';
import type { Logger } from '../../core/logger.ts';
import { type ApiServer, isRefusal } from './api-server.ts';
import { type NodeRecord, toNodeRecord } from './node-record.ts';
import { type ApiObject, amountOf, type Pod } from './objects.ts';
import { lacksImage } from './observed-pod.ts';
import { NODE_PATIENCE_SECONDS, nameOf } from './pod-manifest.ts';
import { LABELS, type PodRecord, toPodRecord } from './pod-record.ts';
import { type Kept, Reflector, type Timing } from './reflector.ts';

/** A pod of somebody else, for the GPUs that it holds. */
interface ForeignPod extends Kept {
  nodeName: string;
  gpus: number;
}

/** A node that was deleted does not come back; one that is not ready may. */
const GONE_PATIENCE_MS = 5_000;
const UNREADY_PATIENCE_MS = NODE_PATIENCE_SECONDS * 1000;
const WAKE_MS = 1_000;
const REMOVE_PATIENCE_MS = 60_000;

export class ClusterView {
  readonly api: ApiServer;
  readonly namespace: string;
  readonly settings: KubernetesSettings;
  readonly pods: Reflector<PodRecord>;
  readonly nodes: Reflector<NodeRecord>;
  /** Only where GPUs are real, and only if we may look into other namespaces. */
  readonly #foreign: Reflector<ForeignPod>;
  readonly #installation: string;
  readonly #listeners = new Map<string, Set<() => void>>();
  /** Since when nothing good is heard of a node, by our own clock. */
  readonly #badSince = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #onLost: (pod: PodRecord) => void = () => {};

  constructor(options: {
    api: ApiServer;
    namespace: string;
    settings: KubernetesSettings;
    installation: string;
    logger: Logger;
    timing?: Partial<Timing>;
  }) {
    const { api, namespace, settings, installation, logger, timing = {} } = options;
    this.api = api;
    this.namespace = namespace;
    this.settings = settings;
    this.#installation = installation;
    const more = { api, logger, timing };
    const label = `${LABELS.installation}`;
    this.pods = new Reflector({
      ...more,
      name: 'pods',
      path: this.path('pods'),
      query: { labelSelector: `${label}=${installation},${LABELS.id}` },
      keep: toPodRecord,
    });
    this.nodes = new Reflector({
      ...more,
      name: 'nodes',
      path: '/api/v1/nodes',
      keep: (node) => toNodeRecord(node, settings),
    });
    this.#foreign = new Reflector({
      ...more,
      name: 'pods of others',
      path: '/api/v1/pods',
      query: {
        labelSelector: `${label}!=${installation}`,
        fieldSelector: 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed',
      },
      keep: (pod) => toForeignPod(pod, settings.gpuResource),
    });
    this.pods.subscribe((_, pod) => this.#tell(pod.key));
    this.nodes.subscribe((kind, node) => this.#noteNode(node.key, kind === 'put' && node.unreadySince === null));
  }

  path(resource: string, name?: string, subresource?: string): string {
    const rest = [name, subresource].filter(Boolean).join('/');
    return `/api/v1/namespaces/${this.namespace}/${resource}${rest && `/${rest}`}`;
  }

  /** Our pod of that name; asks the server when it is not known here. Rejects when the server is away. */
  async findPod(id: string): Promise<PodRecord | undefined> {
    const name = nameOf(id);
    await this.pods.current();
    const known = this.pods.get(name);
    if (known) return known;
    try {
      const object = await this.api.json<ApiObject>({ method: 'GET', path: this.path('pods', name) });
      const isOurs = object.metadata.labels?.[LABELS.installation] === this.#installation;
      return isOurs ? this.pods.put(object) : undefined;
    } catch (error) {
      if (isRefusal(error, 404)) return undefined;
      throw error;
    }
  }

  async getPod(id: string): Promise<PodRecord> {
    const pod = await this.findPod(id);
    if (!pod) throw notFound('Workload');
    return pod;
  }

  /** As it is now; undefined when it is gone, also when another one has its name. */
  now(pod: PodRecord): PodRecord | undefined {
    const current = this.pods.get(pod.key);
    return current?.uid === pod.uid ? current : undefined;
  }

  /** Since when its node is lost; null while the node may be fine, or nobody can tell. */
  lostSince(pod: PodRecord): Date | null {
    if (pod.nodeName === null) return null;
    const isThere = this.nodes.get(pod.nodeName) !== undefined;
    if (!isThere && this.nodes.isCurrent) this.#noteNode(pod.nodeName, false);
    const since = this.#badSince.get(pod.nodeName);
    if (since === undefined) return null;
    return Date.now() - since >= (isThere ? UNREADY_PATIENCE_MS : GONE_PATIENCE_MS) ? new Date(since) : null;
  }

  /** Told when a pod's node counts as lost from now on. */
  onLost(listener: (pod: PodRecord) => void): void {
    this.#onLost = listener;
  }

  /**
   * Waits, told by the watch, until `decide` answers something; what it throws ends the wait too. It is asked once a
   * second as well, for what only time brings.
   */
  until<T>(pod: PodRecord, decide: (now: PodRecord | undefined) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = () => {
        try {
          const answer = decide(this.now(pod));
          if (answer === undefined) return;
          resolve(answer);
        } catch (error) {
          reject(error);
        }
        end();
      };
      const timer = setInterval(look, WAKE_MS);
      const leave = this.listen(pod, look);
      const end = () => {
        clearInterval(timer);
        leave();
      };
      look();
    });
  }

  /** Calls the listener at each change of the pod, until the function that this returns is called. */
  listen(pod: PodRecord, listener: () => void): () => void {
    const listeners = this.#listeners.get(pod.key) ?? new Set();
    this.#listeners.set(pod.key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(pod.key) === listeners) this.#listeners.delete(pod.key);
    };
  }

  /** Deletes it and waits until the cluster knows it no more. Nobody confirms an end on a node that is lost: it is not waited for. */
  async remove(pod: PodRecord, graceSeconds: number): Promise<void> {
    const now = this.pods.get(pod.key) ?? pod;
    // Nothing ran of one without an image, and an old kubelet would pull for a minute before it lets go.
    let isForced = this.lostSince(pod) !== null || lacksImage(now.waiting?.reason);
    await this.#delete(pod, isForced ? 0 : graceSeconds);
    const before = performance.now() + graceSeconds * 1000 + REMOVE_PATIENCE_MS;
    await this.until(pod, (now) => {
      if (now === undefined) return true;
      if (!isForced && this.lostSince(pod) !== null) {
        isForced = true;
        this.#delete(pod, 0).catch(() => {});
      }
      if (performance.now() > before) throw new Failure('unavailable', `The cluster does not end pod ${pod.key}`);
      return undefined;
    });
  }

  /** GPUs that others hold, by node; none where we may not look. */
  async foreignGpus(): Promise<{ nodeName: string; count: number }[]> {
    await this.#foreign.current().catch((error) => {
      if (!isRefusal(error, 403)) throw error;
    });
    return [...this.#foreign.all()].flatMap(({ nodeName, gpus }) => (gpus > 0 ? { nodeName, count: gpus } : []));
  }

  close(): void {
    for (const one of [this.pods, this.nodes, this.#foreign]) one.stop();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #delete({ key, uid }: PodRecord, gracePeriodSeconds: number): Promise<void> {
    const body = { gracePeriodSeconds, preconditions: { uid } };
    try {
      const object = await this.api.json<Partial<Pod>>({ method: 'DELETE', path: this.path('pods', key), body });
      if (object.spec && object.metadata?.deletionTimestamp) this.pods.put(object as Pod);
    } catch (error) {
      if (isRefusal(error, 404)) this.pods.forget(key, uid);
      else if (!isRefusal(error, 409))
        throw error; // another one has its name
      else this.pods.forget(key, uid);
    }
  }

  #noteNode(name: string, isFine: boolean): void {
    if (isFine) {
      this.#badSince.delete(name);
      return;
    }
    if (this.#badSince.has(name)) return;
    this.#badSince.set(name, Date.now());
    for (const patienceMs of [GONE_PATIENCE_MS, UNREADY_PATIENCE_MS]) this.#tellLater(name, patienceMs);
  }

  #tellLater(node: string, patienceMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      for (const pod of this.pods.all()) {
        if (pod.nodeName !== node || this.lostSince(pod) === null) continue;
        this.#tell(pod.key);
        this.#onLost(pod);
      }
    }, patienceMs + 10).unref();
    this.#timers.add(timer);
  }

  #tell(key: string): void {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) listener();
  }
}

function toForeignPod(object: ApiObject, resource: string): ForeignPod {
  const { metadata, spec } = object as Pod;
  const gpus = spec.containers.reduce((sum, { resources }) => sum + amountOf(resources?.limits?.[resource]), 0);
  const { name, namespace, uid, resourceVersion } = metadata;
  return { key: `${namespace}/${name}`, uid, resourceVersion, nodeName: spec.nodeName ?? '', gpus };
}
