/** The members used of Kubernetes objects. */

interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  ownerReferences?: { uid: string }[];
}

export interface ApiObject {
  metadata: ObjectMeta;
}

interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export type Quantities = Record<string, string>;

export interface ContainerStatus {
  name: string;
  imageID?: string;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt?: string };
    terminated?: { exitCode: number; reason?: string; message?: string; startedAt?: string; finishedAt?: string };
  };
  resources?: { limits?: Quantities; requests?: Quantities };
}

export interface Pod extends ApiObject {
  spec: {
    nodeName?: string;
    schedulingGates?: { name: string }[];
    containers: { name: string; resources?: { limits?: Quantities; requests?: Quantities } }[];
    imagePullSecrets?: { name: string }[];
    volumes?: { persistentVolumeClaim?: { claimName: string } }[];
  };
  status?: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
    reason?: string;
    message?: string;
    podIP?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

export interface Taint {
  key: string;
  value?: string;
  effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface Node extends ApiObject {
  spec?: { unschedulable?: boolean; taints?: Taint[] };
  status?: {
    allocatable?: Quantities;
    conditions?: Condition[];
    addresses?: { type: string; address: string }[];
    daemonEndpoints?: { kubeletEndpoint?: { Port?: number } };
  };
}

export interface Service extends ApiObject {
  spec: { ports?: { port: number; nodePort?: number }[] };
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } };
}

export interface ClusterEvent extends ApiObject {
  involvedObject: { name?: string; uid?: string; fieldPath?: string };
  reason?: string;
  message?: string;
  type?: string;
}

const FACTORS: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** `500m` → 0.5, `2Gi` → 2147483648, `1e3` → 1000; 0 when missing or malformed. */
export function amountOf(quantity: string | undefined): number {
  const match = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(n|u|m|k|[MGTPE]i?|Ki)?$/.exec(quantity ?? '');
  return match ? Number(match[1]) * FACTORS[match[2] ?? '']! : 0;
}

export function timeOf(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}

/** The part of an object of the cluster that is kept. */
export interface CachedObject {
  /** Unique within the cache. */
  key: string;
  uid: string;
  resourceVersion: string;
}

/** `gone`: `object` is its last known state. `before` is undefined for a new object. */
export type OnChange<T> = (kind: 'put' | 'gone', object: T, before: T | undefined) => void;

/** Objects of one kind by key, each in its newest version, with listeners for changes. */
export class ObjectCache<T extends CachedObject> {
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<OnChange<T>>();

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  all(): IterableIterator<T> {
    return this.#objects.values();
  }

  subscribe(listener: OnChange<T>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stores the object, unless this or a newer version of it is cached. */
  put(object: T): void {
    const before = this.#objects.get(object.key);
    if (before?.uid === object.uid && !isNewer(object, before.resourceVersion)) return;
    this.#objects.set(object.key, object);
    this.notify('put', object, before?.uid === object.uid ? before : undefined);
  }

  /** Removes the object given by its last known state, unless another one has taken its name. */
  remove(last: T): void {
    const before = this.#objects.get(last.key);
    if (before && before.uid !== last.uid) return;
    this.#objects.delete(last.key);
    this.notify('gone', last, before);
  }

  /** Replaces everything with a list made at `version`. Objects newer than the list stay. */
  replace(items: readonly T[], version: string): void {
    const listed = new Set(items.map(({ key }) => key));
    for (const item of items) this.put(item);
    for (const before of [...this.#objects.values()]) {
      if (!listed.has(before.key) && !isNewer(before, version)) this.remove(before);
    }
  }

  /** Calls the listeners without storing anything. */
  notify(kind: 'put' | 'gone', object: T, before: T | undefined): void {
    for (const listener of [...this.#listeners]) listener(kind, object, before);
  }
}

/** Resource versions of one kind are increasing numbers. */
export function isNewer({ resourceVersion }: CachedObject, than: string): boolean {
  return Number(resourceVersion) > Number(than);
}
