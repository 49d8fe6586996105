import { lookup } from 'node:dns/promises';
import type { EgressMode } from '../../config/egress.ts';
import type { KubernetesSettings } from '../../config/kubernetes-settings.ts';
import { messageOf } from '../../core/errors.ts';
import { isRefusal } from '../../engine/refusal.ts';
import { ApiServer } from '../../runtimes/kubernetes/api/api-server.ts';
import type { ClusterAccess } from '../../runtimes/kubernetes/api/cluster-access.ts';
import { accessOf } from '../../runtimes/kubernetes/api/cluster-access.ts';
import type { ApiObject, Node } from '../../runtimes/kubernetes/api/objects.ts';
import { readDevices } from '../../runtimes/kubernetes/nodes/device-slices.ts';
import { checkNodes } from './check-nodes.ts';
import { checkRights } from './check-rights.ts';
import type { Finding } from './finding.ts';

export interface ClusterCheck {
  settings: KubernetesSettings;
  /** Whether the server has role `control` and so starts workloads. */
  isControl: boolean;
  areGpusSimulated: boolean;
  egress: EgressMode;
  /** Default: the access that the settings describe. */
  open?: () => Promise<ClusterAccess>;
}

const OLDEST_MINOR = 28;
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';
const TIERS = ['STANDARD', 'HIGH_PERFORMANCE'];

/** Checks what a server with these settings would use of a cluster. Changes nothing. */
export async function checkCluster(check: ClusterCheck): Promise<Finding[]> {
  const { settings } = check;
  const api = new ApiServer(check.open ?? (() => accessOf(settings)));
  try {
    const cluster = await checkVersion(api);
    if (cluster.verdict === 'missing') return [cluster];
    const namespace = settings.namespace ?? (await api.access()).namespace ?? 'default';
    const findings = await Promise.all([
      checkNamespace(api, namespace),
      checkRights(api, namespace, check),
      checkAllNodes(api, check),
      checkStorage(api, settings),
      checkPriorities(api, settings),
      checkRuntimeClass(api, settings),
      checkMetrics(api),
      checkWorkerApiHost(settings),
      checkPolicies(api, namespace, check.egress),
    ]);
    return [cluster, ...findings.flat()];
  } finally {
    await api.close();
  }
}

async function checkVersion(api: ApiServer): Promise<Finding> {
  const what = 'cluster';
  try {
    const { server } = await api.access();
    const { gitVersion, major, minor } = await get<{ gitVersion: string; major: string; minor: string }>(
      api,
      '/version',
    );
    const found = `Kubernetes ${gitVersion} at ${server.origin}`;
    const isSupported = Number.parseInt(major, 10) > 1 || Number.parseInt(minor, 10) >= OLDEST_MINOR;
    if (isSupported) return { what, verdict: 'ok', found };
    const advice = `Podyard supports 1.${OLDEST_MINOR} and later. Versions from 1.20 on have worked in tests.`;
    return { what, verdict: 'note', found, advice };
  } catch (error) {
    const advice = 'Name a kubeconfig with PODYARD_KUBECONFIG; inside a cluster, the pod needs a service account.';
    return { what, verdict: 'missing', found: messageOf(error), advice };
  }
}

async function checkNamespace(api: ApiServer, name: string): Promise<Finding> {
  const what = 'namespace';
  const answer = await ask(api, `/api/v1/namespaces/${encodeURIComponent(name)}`);
  if (answer === 'hidden') return { what, verdict: 'ok', found: `${name} (no permission to check that it exists)` };
  if (answer !== 'absent') return { what, verdict: 'ok', found: name };
  const advice = `Run kubectl create namespace ${name}, or name another one with PODYARD_KUBERNETES_NAMESPACE.`;
  return { what, verdict: 'missing', found: `there is no namespace ${name}`, advice };
}

async function checkAllNodes(api: ApiServer, check: ClusterCheck): Promise<Finding[]> {
  const nodes = await ask<{ items: Node[] }>(api, '/api/v1/nodes');
  if (typeof nodes === 'string') {
    const advice = 'Podyard reads from nodes where workers can run: the ClusterRole needs list and watch on nodes.';
    return [{ what: 'nodes', verdict: 'missing', found: 'not allowed to list nodes', advice }];
  }
  const { settings, areGpusSimulated } = check;
  return checkNodes(nodes.items, settings, areGpusSimulated, await readDevices(api, settings.gpuResource));
}

/** Only volumes need a storage class. */
async function checkStorage(api: ApiServer, { storageClasses }: KubernetesSettings): Promise<Finding> {
  const what = 'storage';
  const classes = await ask<{ items: ApiObject[] }>(api, '/apis/storage.k8s.io/v1/storageclasses');
  const named = TIERS.flatMap((tier) => (storageClasses[tier] ? [`${tier} from ${storageClasses[tier]}`] : []));
  if (typeof classes === 'string') {
    const found = `${named.join(', ') || 'the default class'} (no permission to list storage classes)`;
    return { what, verdict: 'ok', found };
  }
  const known = classes.items.map(({ metadata }) => metadata.name);
  const absent = Object.values(storageClasses).filter((name) => !known.includes(name));
  if (absent.length > 0) {
    const advice = `Existing classes: ${known.join(', ') || 'none'}. A volume of a missing class waits until one is provisioned by hand.`;
    return { what, verdict: 'note', found: `there is no storage class ${absent.join(', ')}`, advice };
  }
  const standard = classes.items.find(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true');
  const rest = TIERS.filter((tier) => !storageClasses[tier]);
  if (rest.length > 0 && !standard) {
    const advice = 'Such volumes cannot be created: name classes with PODYARD_KUBERNETES_STORAGE_CLASSES.';
    return { what, verdict: 'note', found: `no default storage class, and none for ${rest.join(', ')}`, advice };
  }
  const others = rest.map((tier) => `${tier} from ${standard!.metadata.name}, the default`);
  return { what, verdict: 'ok', found: [...named, ...others].join(', ') };
}

async function checkPriorities(api: ApiServer, { priorityClasses }: KubernetesSettings): Promise<Finding[]> {
  const names = Object.values(priorityClasses).filter((name) => name !== null);
  const asked = names.map(async (name): Promise<Finding> => {
    const what = 'priority';
    const answer = await ask(api, `/apis/scheduling.k8s.io/v1/priorityclasses/${encodeURIComponent(name)}`);
    if (answer !== 'absent') return { what, verdict: 'ok', found: name };
    const advice = 'Kubernetes rejects pods that name it: create it, or change PODYARD_KUBERNETES_PRIORITY_CLASSES.';
    return { what, verdict: 'missing', found: `there is no priority class ${name}`, advice };
  });
  return Promise.all(asked);
}

async function checkRuntimeClass(api: ApiServer, { gpuRuntimeClass: name }: KubernetesSettings): Promise<Finding[]> {
  if (name === null) return [];
  const what = 'GPUs';
  const answer = await ask(api, `/apis/node.k8s.io/v1/runtimeclasses/${encodeURIComponent(name)}`);
  if (answer !== 'absent') return [{ what, verdict: 'ok', found: `pods with GPUs get the runtime class ${name}` }];
  const advice =
    'Kubernetes rejects pods that name it: install the NVIDIA Container Toolkit or the GPU operator, or change PODYARD_KUBERNETES_GPU_RUNTIME_CLASS.';
  return [{ what, verdict: 'missing', found: `there is no runtime class ${name}`, advice }];
}

async function checkMetrics(api: ApiServer): Promise<Finding> {
  const what = 'metrics';
  const answer = await ask(api, '/apis/metrics.k8s.io/v1beta1');
  if (answer !== 'absent') return { what, verdict: 'ok', found: 'the cluster has the metrics API' };
  const advice =
    'Usage of pods then comes from kubelets, if allowed (get nodes/stats); otherwise it is shown as 0. metrics-server provides the API, and autoscaling of the server needs it.';
  return { what, verdict: 'note', found: 'the cluster has no metrics API', advice };
}

interface NetworkPolicy extends ApiObject {
  spec: { policyTypes?: string[]; podSelector?: { matchLabels?: Record<string, string> } };
}

/** Looks for a policy; whether the network plugin enforces it cannot be known. */
async function checkPolicies(api: ApiServer, namespace: string, mode: EgressMode): Promise<Finding> {
  const what = 'egress';
  if (mode === 'all') return { what, verdict: 'note', found: 'all: workers and pods reach every address' };
  const path = `/apis/networking.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/networkpolicies`;
  const answer = await ask<{ items: NetworkPolicy[] }>(api, path);
  const advice = 'The network plugin must enforce policies: in a pod, try curl -m 3 169.254.169.254, which must fail.';
  if (answer === 'hidden') return { what, verdict: 'note', found: `${mode} (no permission to check policies)`, advice };
  const limits = ({ spec }: NetworkPolicy) => {
    const labels = Object.entries(spec.podSelector?.matchLabels ?? {});
    const isAboutOurs = labels.every(([name, value]) => name === 'app.kubernetes.io/managed-by' && value === 'podyard');
    return isAboutOurs && spec.policyTypes?.includes('Egress');
  };
  const found = answer === 'absent' ? undefined : answer.items.find(limits);
  if (found) return { what, verdict: 'ok', found: `${mode}, by the policy ${found.metadata.name}`, advice };
  const none = `no NetworkPolicy limits the egress of workers and pods in ${namespace}`;
  return { what, verdict: 'note', found: none, advice: 'The chart creates one; or accept it with --egress all.' };
}

/** Resolves the name from here, as an approximation: how pods resolve it cannot be checked. */
async function checkWorkerApiHost({ workerApiHost, inCluster }: KubernetesSettings): Promise<Finding> {
  const what = 'workers';
  if (workerApiHost === null) {
    const found = inCluster
      ? 'use the worker API at the address of this pod'
      : 'use the worker API at the address of this machine';
    const advice = inCluster
      ? 'With more than one process, name a Service with PODYARD_WORKER_API_HOST.'
      : 'Pods must be able to reach it; if they cannot, name a reachable host with PODYARD_WORKER_API_HOST.';
    return { what, verdict: 'note', found, advice };
  }
  const address = await lookup(workerApiHost).catch(() => undefined);
  if (address) return { what, verdict: 'ok', found: `use the worker API at ${workerApiHost} (${address.address})` };
  const advice = inCluster
    ? 'Workers cannot get jobs: check that there is a Service of that name.'
    : 'That is fine for a Service, whose name resolves inside the cluster only; otherwise workers cannot get jobs.';
  return {
    what,
    verdict: inCluster ? 'missing' : 'note',
    found: `cannot resolve ${workerApiHost} from here`,
    advice,
  };
}

/** Reads an object; `absent` on 404, `hidden` on 403. */
async function ask<T = object>(api: ApiServer, path: string): Promise<T | 'absent' | 'hidden'> {
  try {
    return await get<T>(api, path);
  } catch (error) {
    if (isRefusal(error, 404)) return 'absent';
    if (isRefusal(error, 403)) return 'hidden';
    throw error;
  }
}

function get<T>(api: ApiServer, path: string): Promise<T> {
  return api.json<T>({ method: 'GET', path, timeoutMs: 5_000 });
}
