import { UsageError } from '../core/usage-error.ts';
import { parseInteger, parseOneOf } from './parse-setting.ts';
import {
  asGiven,
  oneOf,
  optional,
  readSettings,
  type SettingInfo,
  seconds,
  setting,
  type ValuesOf,
} from './setting.ts';

export interface Toleration {
  key: string;
  operator: 'Exists' | 'Equal';
  value?: string;
  effect?: string;
}

const TIERS = ['STANDARD', 'HIGH_PERFORMANCE'];
const PRIORITIES = ['PRIORITY_FLASHBOOT', 'DEFAULT'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** A text that the cluster has a value for. */
function text(info: SettingInfo<never> & { shownDefault: string }) {
  return optional({ ...info, parse: asGiven });
}

/** Names with values; `names`: the allowed ones, any by default. */
function map(info: SettingInfo<never> & { shownDefault: string }, names: readonly string[] | null = null) {
  return setting({ ...info, default: '', parse: (name, given) => pairs(name, given, names) });
}

/** The cluster that workloads run in. */
export const KUBERNETES = {
  /** The name or address at which workloads reach the worker API. */
  workerApiHost: text({
    variable: 'PODYARD_WORKER_API_HOST',
    shownDefault: 'own address',
    page: 'Name or address at which pods reach the worker API',
    chart: { value: 'workerApi.host', as: 'template' },
  }),
  kubeconfig: text({
    variable: 'PODYARD_KUBECONFIG',
    shownDefault: 'as kubectl, or the pod’s',
    page: 'Kubeconfig of the cluster',
  }),
  context: text({
    variable: 'PODYARD_KUBERNETES_CONTEXT',
    shownDefault: 'the current one',
    page: 'Context of the kubeconfig',
  }),
  /** Null: Podyard's own namespace, or the kubeconfig's, else `default`. */
  namespace: text({
    variable: 'PODYARD_KUBERNETES_NAMESPACE',
    shownDefault: 'own, or the context’s',
    page: 'Namespace of workloads',
    chart: { value: 'workloads.namespace', as: 'template' },
  }),
  gpuLabel: setting({
    variable: 'PODYARD_KUBERNETES_GPU_LABEL',
    default: 'nvidia.com/gpu.product',
    parse: asGiven,
    page: 'Node label that names its GPUs: a catalog type or pool',
    chart: { value: 'workloads.gpuLabel', as: 'text' },
  }),
  gpuResource: setting({
    variable: 'PODYARD_KUBERNETES_GPU_RESOURCE',
    default: 'nvidia.com/gpu',
    parse: asGiven,
    page: 'Resource that pods request for a GPU',
    chart: { value: 'workloads.gpuResource', as: 'text' },
  }),
  gpuRuntimeClass: text({
    variable: 'PODYARD_KUBERNETES_GPU_RUNTIME_CLASS',
    shownDefault: 'none',
    page: 'Runtime class of pods with GPUs',
    chart: { value: 'workloads.gpuRuntimeClass', as: 'text' },
  }),
  dataCenterLabel: setting({
    variable: 'PODYARD_KUBERNETES_DATA_CENTER_LABEL',
    default: 'topology.kubernetes.io/region',
    parse: asGiven,
    page: 'Node label that names its data center; without it, `LOCAL-1`',
    chart: { value: 'workloads.dataCenterLabel', as: 'text' },
  }),
  nodeSelector: map({
    variable: 'PODYARD_KUBERNETES_NODE_SELECTOR',
    shownDefault: 'all nodes',
    page: 'Labels of the nodes to use: `<label>=<value>,…`',
    chart: { value: 'workloads.nodeSelector', as: 'pairs' },
  }),
  tolerations: setting({
    variable: 'PODYARD_KUBERNETES_TOLERATIONS',
    isEmptyGiven: true,
    default: 'nvidia.com/gpu:NoSchedule',
    parse: tolerations,
    page: 'Taints that workloads tolerate: `<key>[=<value>][:<effect>],…`',
    chart: { value: 'workloads.tolerations', as: 'template' },
  }),
  /** How long a pod may stay pending before another place is tried. */
  pendingMs: seconds({
    variable: 'PODYARD_KUBERNETES_PENDING_SECONDS',
    default: 120,
    max: 86_400,
    page: 'How long a pod may stay unscheduled before its worker is replaced',
    chart: { value: 'workloads.pendingSeconds', as: 'integer' },
  }),
  /** For workloads with PRIORITY_FLASHBOOT, and for all others. */
  priorityClasses: setting({
    variable: 'PODYARD_KUBERNETES_PRIORITY_CLASSES',
    default: '',
    shownDefault: 'none',
    parse: priorityClasses,
    page: '`PRIORITY_FLASHBOOT=<class>,DEFAULT=<class>`',
    chart: { value: 'workloads.priorityClasses', as: 'template' },
  }),
  pullPolicy: optional({
    variable: 'PODYARD_KUBERNETES_PULL_POLICY',
    shownDefault: 'the cluster’s',
    parse: (name, given) => parseOneOf(name, given, ['IfNotPresent', 'Always']),
    page: '`Always` checks the registry at each start; `IfNotPresent` does not',
    chart: { value: 'workloads.pullPolicy', as: 'text' },
  }),
  podSecurity: oneOf({
    variable: 'PODYARD_KUBERNETES_POD_SECURITY',
    default: 'baseline',
    values: ['baseline', 'restricted'],
    page: 'Pod Security Standard of workloads; `restricted`: none runs as root',
    chart: { value: 'workloads.podSecurity', as: 'text' },
  }),
  hasUserNamespaces: setting({
    variable: 'PODYARD_KUBERNETES_USER_NAMESPACES',
    default: 'false',
    parse: (name, given) => parseOneOf(name, given, ['true', 'false']) === 'true',
    page: '`true`: root in a workload is nobody on its node (`hostUsers: false`)',
    chart: { value: 'workloads.userNamespaces', as: 'switch' },
  }),
  podLabels: map({
    variable: 'PODYARD_KUBERNETES_POD_LABELS',
    shownDefault: 'none',
    page: "More labels of workloads' pods: `<label>=<value>,…`",
    chart: { value: 'workloads.podLabels', as: 'pairs' },
  }),
  podAnnotations: map({
    variable: 'PODYARD_KUBERNETES_POD_ANNOTATIONS',
    shownDefault: 'none',
    page: "More annotations of workloads' pods: `<name>=<value>,…`",
    chart: { value: 'workloads.podAnnotations', as: 'pairs' },
  }),
  /** By tier; a tier without one gets the cluster's default class. */
  storageClasses: map(
    {
      variable: 'PODYARD_KUBERNETES_STORAGE_CLASSES',
      shownDefault: 'the cluster’s',
      page: 'Storage classes of volumes: `STANDARD=<class>,HIGH_PERFORMANCE=<class>`',
      chart: { value: 'workloads.storageClasses', as: 'pairs' },
    },
    TIERS,
  ),
  accessMode: oneOf({
    variable: 'PODYARD_KUBERNETES_ACCESS_MODE',
    default: 'ReadWriteMany',
    values: ['ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'],
    page: 'Access mode of network volumes; `ReadWriteOnce`: one node at a time',
    chart: { value: 'workloads.accessMode', as: 'text' },
  }),
  /** Null: workers of the cluster cannot have models, and files of volumes are not served. */
  modelsImage: text({
    variable: 'PODYARD_KUBERNETES_MODELS_IMAGE',
    shownDefault: 'none; the chart’s own',
    page: 'Image of Podyard that copies [models](guide/kubernetes.md#models) and serves [files](guide/kubernetes.md#files-of-volumes)',
    chart: { value: 'image', as: 'template' },
  }),
  pullSecrets: setting({
    variable: 'PODYARD_KUBERNETES_PULL_SECRETS',
    default: '',
    shownDefault: 'none; the chart’s own',
    parse: (_, given) => itemsOf(given),
    page: 'Secrets of the workloads’ namespace that pull that image: `<name>,…`',
    chart: { value: 'imagePullSecrets', as: 'template' },
  }),
  /** Null: each worker has its own copy. */
  modelsPath: optional({
    variable: 'PODYARD_KUBERNETES_MODELS_PATH',
    shownDefault: 'a copy for each worker',
    parse: (name, given) => {
      if (given.length > 1 && given.startsWith('/') && !given.split('/').includes('..')) return given;
      throw new UsageError(`${name} is '${given}', but must be an absolute path of the nodes`);
    },
    page: 'Folder of each node whose workers share their models there',
    chart: { value: 'models.nodePath', as: 'text' },
  }),
  /** Null: half of what they use and what is free. */
  modelsGb: optional({
    variable: 'PODYARD_KUBERNETES_MODELS_GB',
    shownDefault: 'half of the free disk',
    parse: (name, given) => parseInteger(name, given, { min: 1, max: 1_000_000, fallback: 0 }),
    page: 'What models may take in that folder, in GB; those used longest ago leave first',
    chart: { value: 'models.nodeGb', as: 'text' },
  }),
  /** How TCP ports of pods are published; null: not published. */
  serviceType: setting({
    variable: 'PODYARD_KUBERNETES_SERVICE_TYPE',
    default: 'NodePort',
    parse: (name, given) => {
      const type = parseOneOf(name, given, ['NodePort', 'LoadBalancer', 'none']);
      return type === 'none' ? null : type;
    },
    page: 'How TCP ports of pods are published: NodePort, LoadBalancer, none',
    chart: { value: 'workloads.serviceType', as: 'text' },
  }),
  publicIp: text({
    variable: 'PODYARD_KUBERNETES_PUBLIC_IP',
    shownDefault: 'the node’s',
    page: 'Address of node ports',
    chart: { value: 'workloads.publicIp', as: 'text' },
  }),
};

export interface KubernetesSettings extends ValuesOf<typeof KUBERNETES> {
  /** The API server as a pod sees it; null outside a cluster. */
  inCluster: { host: string; port: string } | null;
}

/** Reads the variables. Throws an error that names the variable, its value and what is allowed. */
export function readKubernetesSettings(env: NodeJS.ProcessEnv): KubernetesSettings {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  return { ...readSettings(KUBERNETES, {}, env), inCluster: host ? { host, port } : null };
}

function priorityClasses(name: string, text: string): { priority: string | null; other: string | null } {
  const { PRIORITY_FLASHBOOT: priority = null, DEFAULT: other = null } = pairs(name, text, PRIORITIES);
  return { priority, other };
}

/** Parses comma-separated `<name>=<value>` items; `names`: the allowed names, null for any. */
function pairs(variable: string, text: string, names: readonly string[] | null): Record<string, string> {
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
function tolerations(name: string, text: string): Toleration[] {
  return itemsOf(text).map((item) => {
    const [, key, value, effect] = /^([^=:]+)(?:=([^=:]*))?(?::(\w+))?$/.exec(item) ?? [];
    if (key === undefined || (effect !== undefined && !EFFECTS.includes(effect))) {
      throw new UsageError(`${name} has '${item}', but takes <key>[=<value>][:<effect>] with ${EFFECTS.join(', ')}`);
    }
    return {
      key,
      ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
      ...(effect !== undefined && { effect }),
    } as Toleration;
  });
}

function itemsOf(text: string): string[] {
  return text.split(',').flatMap((item) => item.trim() || []);
}
