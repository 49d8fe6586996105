import { UsageError } from '../core/usage-error.ts';
import { parseInteger, parseOneOf } from './parse-setting.ts';

/** An operator's settings for the cluster that workloads run in. */
export interface KubernetesSettings {
  /** Null: kubectl's default; inside a cluster, the service account. */
  kubeconfig: string | null;
  context: string | null;
  /** The API server as a pod sees it; null outside a cluster. */
  inCluster: { host: string; port: string } | null;
  /** Null: Podyard's own namespace, or the kubeconfig's, else `default`. */
  namespace: string | null;
  /** Node labels with the GPU model and the data center. */
  gpuLabel: string;
  dataCenterLabel: string;
  gpuResource: string;
  gpuRuntimeClass: string | null;
  /** By tier; a tier without one gets the cluster's default class. */
  storageClasses: Readonly<Record<string, string>>;
  accessMode: 'ReadWriteMany' | 'ReadWriteOnce' | 'ReadWriteOncePod';
  tolerations: readonly Toleration[];
  /** Labels of the nodes that may be used. */
  nodeSelector: Readonly<Record<string, string>>;
  /** Priority classes of workloads with PRIORITY_FLASHBOOT, and of all others. */
  priorityClasses: { priority: string | null; other: string | null };
  pullPolicy: 'IfNotPresent' | 'Always' | null;
  /** The Pod Security Standard that workloads meet. Images that run as root cannot start with `restricted`. */
  podSecurity: 'baseline' | 'restricted';
  /** Root in a workload is then nobody on its node. */
  hasUserNamespaces: boolean;
  /** More labels and annotations of workloads' pods, such as a queue's name or a switch of a service mesh. */
  podLabels: Readonly<Record<string, string>>;
  podAnnotations: Readonly<Record<string, string>>;
  /** How long a pod may stay pending before another place is tried. */
  pendingMs: number;
  /** How TCP ports of pods are published; null: not published. */
  serviceType: 'NodePort' | 'LoadBalancer' | null;
  /** The address of node ports; null: the node's own. */
  publicIp: string | null;
  /** The name or address at which workloads reach the worker API; null: this host's address. */
  workerApiHost: string | null;
}

export interface Toleration {
  key: string;
  operator: 'Exists' | 'Equal';
  value?: string;
  effect?: string;
}

const TIERS = ['STANDARD', 'HIGH_PERFORMANCE'];
const ACCESS_MODES = ['ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'] as const;
const PRIORITIES = ['PRIORITY_FLASHBOOT', 'DEFAULT'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Reads the variables. Throws an error that names the variable, its value and what is allowed. */
export function readKubernetesSettings(env: NodeJS.ProcessEnv): KubernetesSettings {
  const text = (name: string): string | null => env[name] || null;
  const priorities = pairs('PODYARD_KUBERNETES_PRIORITY_CLASSES', env.PODYARD_KUBERNETES_PRIORITY_CLASSES, PRIORITIES);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  return {
    kubeconfig: text('PODYARD_KUBECONFIG'),
    context: text('PODYARD_KUBERNETES_CONTEXT'),
    inCluster: host ? { host, port } : null,
    namespace: text('PODYARD_KUBERNETES_NAMESPACE'),
    gpuLabel: text('PODYARD_KUBERNETES_GPU_LABEL') ?? 'nvidia.com/gpu.product',
    dataCenterLabel: text('PODYARD_KUBERNETES_DATA_CENTER_LABEL') ?? 'topology.kubernetes.io/region',
    gpuResource: text('PODYARD_KUBERNETES_GPU_RESOURCE') ?? 'nvidia.com/gpu',
    gpuRuntimeClass: text('PODYARD_KUBERNETES_GPU_RUNTIME_CLASS'),
    storageClasses: pairs('PODYARD_KUBERNETES_STORAGE_CLASSES', env.PODYARD_KUBERNETES_STORAGE_CLASSES, TIERS),
    accessMode: parseOneOf(
      'PODYARD_KUBERNETES_ACCESS_MODE',
      env.PODYARD_KUBERNETES_ACCESS_MODE || 'ReadWriteMany',
      ACCESS_MODES,
    ),
    tolerations: tolerations(env.PODYARD_KUBERNETES_TOLERATIONS ?? 'nvidia.com/gpu:NoSchedule'),
    nodeSelector: pairs('PODYARD_KUBERNETES_NODE_SELECTOR', env.PODYARD_KUBERNETES_NODE_SELECTOR, null),
    priorityClasses: { priority: priorities.PRIORITY_FLASHBOOT ?? null, other: priorities.DEFAULT ?? null },
    pullPolicy: env.PODYARD_KUBERNETES_PULL_POLICY
      ? parseOneOf('PODYARD_KUBERNETES_PULL_POLICY', env.PODYARD_KUBERNETES_PULL_POLICY, ['IfNotPresent', 'Always'])
      : null,
    podSecurity: parseOneOf('PODYARD_KUBERNETES_POD_SECURITY', env.PODYARD_KUBERNETES_POD_SECURITY || 'baseline', [
      'baseline',
      'restricted',
    ]),
    hasUserNamespaces: flag('PODYARD_KUBERNETES_USER_NAMESPACES', env.PODYARD_KUBERNETES_USER_NAMESPACES),
    podLabels: pairs('PODYARD_KUBERNETES_POD_LABELS', env.PODYARD_KUBERNETES_POD_LABELS, null),
    podAnnotations: pairs('PODYARD_KUBERNETES_POD_ANNOTATIONS', env.PODYARD_KUBERNETES_POD_ANNOTATIONS, null),
    pendingMs:
      1000 *
      parseInteger('PODYARD_KUBERNETES_PENDING_SECONDS', env.PODYARD_KUBERNETES_PENDING_SECONDS, {
        min: 0,
        max: 86_400,
        fallback: 120,
      }),
    serviceType: serviceType(env.PODYARD_KUBERNETES_SERVICE_TYPE || 'NodePort'),
    publicIp: text('PODYARD_KUBERNETES_PUBLIC_IP'),
    workerApiHost: text('PODYARD_WORKER_API_HOST'),
  };
}

function flag(variable: string, value: string | undefined): boolean {
  return parseOneOf(variable, value || 'false', ['true', 'false']) === 'true';
}

function serviceType(value: string): KubernetesSettings['serviceType'] {
  const type = parseOneOf('PODYARD_KUBERNETES_SERVICE_TYPE', value, ['NodePort', 'LoadBalancer', 'none']);
  return type === 'none' ? null : type;
}

/** Parses comma-separated `<name>=<value>` items; `names`: the allowed names, null for any. */
function pairs(variable: string, text: string | undefined, names: readonly string[] | null): Record<string, string> {
  const items = itemsOf(text).map((item): [string, string] => {
    const at = item.indexOf('=');
    const name = item.slice(0, at).trim();
    if (at < 1 || (names !== null && !names.includes(name))) {
      const example = names === null ? '<label>=<value>' : names.map((one) => `${one}=<name>`).join(',');
      throw new UsageError(`${variable} has '${item}', but takes ${example}`);
    }
    return [name, item.slice(at + 1).trim()];
  });
  return Object.fromEntries(items);
}

/** Parses comma-separated `<key>[=<value>][:<effect>]` items. */
function tolerations(text: string): Toleration[] {
  return itemsOf(text).map((item) => {
    const [, key, value, effect] = /^([^=:]+)(?:=([^=:]*))?(?::(\w+))?$/.exec(item) ?? [];
    if (key === undefined || (effect !== undefined && !EFFECTS.includes(effect))) {
      throw new UsageError(
        `PODYARD_KUBERNETES_TOLERATIONS has '${item}', but takes <key>[=<value>][:<effect>] with ${EFFECTS.join(', ')}`,
      );
    }
    return {
      key,
      ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
      ...(effect !== undefined && { effect }),
    } as Toleration;
  });
}

function itemsOf(text: string | undefined): string[] {
  return (text ?? '').split(',').flatMap((item) => item.trim() || []);
}
