/** The cluster as the runtime sees it: our pods and their nodes, watched from the first read on. */

import type { KubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { Failure, notFound } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import type { ApiServer } from '../api/api-server.ts';
import { type ApiObject, amountOf, type CachedObject, type Pod } from '../api/objects.ts';
import { Reflector, type Timing } from '../api/reflector.ts';
import { DeviceSlices, withDevices } from '../nodes/device-slices.ts';
import { type NodeRecord, toNodeRecord } from '../nodes/nodes.ts';
import { lacksImage } from './observed-pod.ts';
import { NODE_TIMEOUT_SECONDS } from './pod-manifest.ts';
import { nameOf } from './pod-place.ts';
import { LABELS, type PodRecord, toPodRecord } from './pod-record.ts';

/** A foreign pod, for the GPUs it holds. */
interface ForeignPod extends CachedObject {
  nodeName: string;
  gpus: number;
}

/** How long a node may be missing or unready before it counts as lost. A deleted node does not come back. */
const GONE_TIMEOUT_MS = 5_000;
const UNREADY_TIMEOUT_MS = NODE_TIMEOUT_SECONDS * 1000;
/** Between two checks of what only time changes. */
const POLL_MS = 1_000;
const REMOVE_TIMEOUT_MS = 60_000;

export class ClusterView {
  readonly api: ApiServer;
  readonly namespace: string;
  readonly settings: KubernetesSettings;
  readonly pods: Reflector<PodRecord>;
  readonly nodes: Reflector<NodeRecord>;
  /** Read only where GPUs are real, and only if we may list pods of other namespaces. */
  readonly #foreign: Reflector<ForeignPod>;
  readonly #devices: DeviceSlices;
  readonly #installation: string;
  readonly #listeners = new Map<string, Set<() => void>>();
  /** Nodes that are gone or unready: since when, and the same on the clock. */
  readonly #badNodes = new Map<string, { since: Date; atMs: number }>();
  readonly #clock: Clock;
  readonly #timers = new Set<NodeJS.Timeout>();
  #onLost: (pod: PodRecord) => void = () => {};

  constructor(options: {
    api: ApiServer;
    namespace: string;
    settings: KubernetesSettings;
    installation: string;
    logger: Logger;
    timing?: Partial<Timing>;
    clock?: Clock;
  }) {
    const { api, namespace, settings, installation, logger, timing = {} } = options;
    this.api = api;
    this.namespace = namespace;
    this.settings = settings;
    this.#installation = installation;
    this.#clock = options.clock ?? monotonicClock;
    const more = { api, logger, timing };
    const label = `${LABELS.installation}`;
    this.pods = new Reflector({
      ...more,
      name: 'pods',
      path: this.path('pods'),
      query: { labelSelector: `${label}=${installation},${LABELS.id}` },
      transform: toPodRecord,
    });
    this.nodes = new Reflector({
      ...more,
      name: 'nodes',
      path: '/api/v1/nodes',
      transform: (node) => toNodeRecord(node, settings),
    });
    this.#foreign = new Reflector({
      ...more,
      name: 'pods of others',
      path: '/api/v1/pods',
      query: {
        labelSelector: `${label}!=${installation}`,
        fieldSelector: 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed',
      },
      transform: (pod) => toForeignPod(pod, settings.gpuResource),
    });
    this.#devices = new DeviceSlices({ ...more, resource: settings.gpuResource });
    this.pods.subscribe((_, pod) => this.#notify(pod.key));
    this.nodes.subscribe((kind, node) => this.#updateNode(node.key, kind === 'put' && node.unreadySince === null));
  }

  path(resource: string, name?: string, subresource?: string): string {
    const rest = [name, subresource].filter(Boolean).join('/');
    return `/api/v1/namespaces/${this.namespace}/${resource}${rest && `/${rest}`}`;
  }

  /** Returns the workload's pod; asks the server when it is not cached. Rejects when the server is away. */
  async findPod(id: string): Promise<PodRecord | undefined> {
    const name = nameOf(id);
    await this.pods.current();
    const known = this.pods.get(name);
    if (known) return known;
    const object = await orAbsent(this.api.json<ApiObject>({ method: 'GET', path: this.path('pods', name) }));
    const isOurs = object?.metadata.labels?.[LABELS.installation] === this.#installation;
    return object && isOurs ? this.pods.put(object) : undefined;
  }

  async getPod(id: string): Promise<PodRecord> {
    const pod = await this.findPod(id);
    if (!pod) throw notFound('Workload');
    return pod;
  }

  /** Returns the pod's current state; undefined when it is gone, even if another pod has its name. */
  now(pod: PodRecord): PodRecord | undefined {
    const current = this.pods.get(pod.key);
    return current?.uid === pod.uid ? current : undefined;
  }

  /** Since when the pod's node is lost; null while the node may be fine or its state is unknown. */
  lostSince(pod: PodRecord): Date | null {
    if (pod.nodeName === null) return null;
    const isThere = this.nodes.get(pod.nodeName) !== undefined;
    if (!isThere && this.nodes.isCurrent) this.#updateNode(pod.nodeName, false);
    const bad = this.#badNodes.get(pod.nodeName);
    if (bad === undefined) return null;
    const timeoutMs = isThere ? UNREADY_TIMEOUT_MS : GONE_TIMEOUT_MS;
    return this.#clock.now() - bad.atMs >= timeoutMs ? bad.since : null;
  }

  /** Calls the listener when a pod's node is found lost. */
  onLost(listener: (pod: PodRecord) => void): void {
    this.#onLost = listener;
  }

  /**
   * Resolves once `decide` returns something; rejects with what it throws. Calls it at each change of the pod, and once a
   * second for what only time changes.
   */
  until<T>(pod: PodRecord, decide: (now: PodRecord | undefined) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const check = () => {
        try {
          const answer = decide(this.now(pod));
          if (answer === undefined) return;
          resolve(answer);
        } catch (error) {
          reject(error);
        }
        end();
      };
      const timer = setInterval(check, POLL_MS);
      const leave = this.listen(pod, check);
      const end = () => {
        clearInterval(timer);
        leave();
      };
      check();
    });
  }

  /** Calls the listener at each change of the pod until the returned function is called. */
  listen(pod: PodRecord, listener: () => void): () => void {
    const listeners = this.#listeners.get(pod.key) ?? new Set();
    this.#listeners.set(pod.key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(pod.key) === listeners) this.#listeners.delete(pod.key);
    };
  }

  /** Deletes the pod and waits until it is gone. On a lost node its end is never confirmed, so it is deleted by force. */
  async remove(pod: PodRecord, graceSeconds: number): Promise<void> {
    const now = this.pods.get(pod.key) ?? pod;
    // Without an image nothing has run, and an old kubelet would keep pulling for a minute before it ends.
    let isForced = this.lostSince(pod) !== null || lacksImage(now.waiting?.reason);
    await this.#delete(pod, isForced ? 0 : graceSeconds);
    const deadline = this.#clock.now() + graceSeconds * 1000 + REMOVE_TIMEOUT_MS;
    await this.until(pod, (now) => {
      if (now === undefined) return true;
      if (!isForced && this.lostSince(pod) !== null) {
        isForced = true;
        this.#delete(pod, 0).catch(() => {});
      }
      if (this.#clock.now() > deadline) throw new Failure('unavailable', `The cluster did not delete pod ${pod.key}`);
      return undefined;
    });
  }

  /** The nodes with their GPUs, whether a device plugin or a DRA driver offers them. */
  async nodesWithGpus(): Promise<Iterable<NodeRecord>> {
    return withDevices(this.nodes.all(), await this.#devices.byNode());
  }

  /** GPUs that foreign pods hold, by node; none where we may not see them. */
  async foreignGpus(): Promise<{ nodeName: string; count: number }[]> {
    await this.#foreign.current().catch((error) => {
      if (!isRefusal(error, 403)) throw error;
    });
    return [...this.#foreign.all()].flatMap(({ nodeName, gpus }) => (gpus > 0 ? { nodeName, count: gpus } : []));
  }

  close(): void {
    for (const one of [this.pods, this.nodes, this.#foreign]) one.stop();
    this.#devices.close();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #delete({ key, uid }: PodRecord, gracePeriodSeconds: number): Promise<void> {
    const body = { gracePeriodSeconds, preconditions: { uid } };
    try {
      const object = await this.api.json<Partial<Pod>>({ method: 'DELETE', path: this.path('pods', key), body });
      if (object.spec && object.metadata?.deletionTimestamp) this.pods.put(object as Pod);
    } catch (error) {
      if (isRefusal(error, 404)) this.pods.forget(key, uid);
      else if (isRefusal(error, 409))
        this.pods.forget(key, uid); // another pod has its name
      else throw error;
    }
  }

  #updateNode(name: string, isFine: boolean): void {
    if (isFine) {
      this.#badNodes.delete(name);
      return;
    }
    if (this.#badNodes.has(name)) return;
    this.#badNodes.set(name, { since: new Date(), atMs: this.#clock.now() });
    for (const timeoutMs of [GONE_TIMEOUT_MS, UNREADY_TIMEOUT_MS]) this.#checkNodeAfter(timeoutMs, name);
  }

  #checkNodeAfter(timeoutMs: number, node: string): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      for (const pod of this.pods.all()) {
        if (pod.nodeName !== node || this.lostSince(pod) === null) continue;
        this.#notify(pod.key);
        this.#onLost(pod);
      }
    }, timeoutMs + 10).unref();
    this.#timers.add(timer);
  }

  #notify(key: string): void {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) listener();
  }
}

function toForeignPod(object: ApiObject, resource: string): ForeignPod {
  const { metadata, spec } = object as Pod;
  const gpus = spec.containers.reduce((sum, { resources }) => sum + amountOf(resources?.limits?.[resource]), 0);
  const { name, namespace, uid, resourceVersion } = metadata;
  return { key: `${namespace}/${name}`, uid, resourceVersion, nodeName: spec.nodeName ?? '', gpus };
}
