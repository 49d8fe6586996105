/** The members used of Kubernetes objects. */

export interface ObjectMeta {
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

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export type Quantities = Record<string, string>;

export interface ContainerStatus {
  name: string;
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
  involvedObject: { name?: string; uid?: string };
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
