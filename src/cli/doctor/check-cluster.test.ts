import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readKubernetesSettings } from '../../config/kubernetes-settings.ts';
import { openAccess } from '../../runtimes/kubernetes/api/cluster-access.ts';
import { checkCluster } from './check-cluster.ts';
import type { Finding } from './finding.ts';

/** The cluster's responses by path; a number is an error status. */
let answers: Record<string, object | number>;
/** Denied rights, as `verb resource`. */
let denied: string[];
let server: Server;
let url: string;

beforeEach(async () => {
  denied = [];
  answers = {
    '/version': { gitVersion: 'v1.31.2', major: '1', minor: '31+' },
    '/api/v1/namespaces/gpus': {},
    '/api/v1/nodes': { items: [node('a'), node('b')] },
    '/apis/storage.k8s.io/v1/storageclasses': { items: [storageClass('ssd', true)] },
    '/apis/metrics.k8s.io/v1beta1': {},
  };
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const answer = request.method === 'POST' ? review(Buffer.concat(chunks).toString()) : answers[request.url!];
      response.statusCode = typeof answer === 'number' ? answer : answer ? 200 : 404;
      response.end(JSON.stringify(typeof answer === 'object' ? answer : { message: 'no' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});

function review(body: string): object {
  const { verb, resource, subresource } = JSON.parse(body).spec.resourceAttributes;
  const name = `${verb} ${subresource ? `${resource}/${subresource}` : resource}`;
  return { status: { allowed: !denied.includes(name) } };
}

function node(name: string, options: { labels?: object; gpus?: number; taint?: string; ready?: string } = {}): object {
  const { labels = {}, gpus = 0, taint, ready = 'True' } = options;
  return {
    metadata: { name, uid: name, resourceVersion: '1', labels },
    spec: { taints: taint ? [{ key: taint, effect: 'NoSchedule' }] : [] },
    status: {
      allocatable: { cpu: '8', memory: '32Gi', ...(gpus > 0 ? { 'nvidia.com/gpu': String(gpus) } : {}) },
      conditions: [{ type: 'Ready', status: ready }],
    },
  };
}

const gpuNode = (name: string, product: string, region?: string) =>
  node(name, {
    gpus: 4,
    labels: { 'nvidia.com/gpu.product': product, ...(region && { 'topology.kubernetes.io/region': region }) },
  });
const storageClass = (name: string, isDefault = false) => ({
  metadata: { name, annotations: { 'storageclass.kubernetes.io/is-default-class': String(isDefault) } },
});

async function check(
  env: Record<string, string> = {},
  more: { isControl?: boolean; egress?: 'all' } = {},
): Promise<Finding[]> {
  const settings = readKubernetesSettings({ PODYARD_KUBERNETES_NAMESPACE: 'gpus', ...env });
  const open = async () => openAccess(url);
  return checkCluster({ settings, isControl: true, areGpusSimulated: false, egress: 'lan', open, ...more });
}
const about = (findings: Finding[], what: string) => findings.filter((finding) => finding.what === what);

test('a complete cluster has nothing missing', async () => {
  answers['/api/v1/nodes'] = { items: [gpuNode('a', 'NVIDIA-GeForce-RTX-4090'), gpuNode('b', 'AMPERE_80'), node('c')] };
  answers['/apis/scheduling.k8s.io/v1/priorityclasses/high'] = {};
  answers['/apis/networking.k8s.io/v1/namespaces/gpus/networkpolicies'] = {
    items: [{ metadata: { name: 'py-workloads' }, spec: { policyTypes: ['Egress'], podSelector: {} } }],
  };
  const findings = await check({
    PODYARD_WORKER_API_HOST: 'localhost',
    PODYARD_KUBERNETES_PRIORITY_CLASSES: 'PRIORITY_FLASHBOOT=high',
  });
  expect(findings.filter(({ verdict }) => verdict !== 'ok')).toEqual([]);
  expect(findings.map(({ what, found }) => `${what}: ${found}`)).toEqual([
    `cluster: Kubernetes v1.31.2 at ${url}`,
    'namespace: gpus',
    'rights: everything needed in namespace gpus',
    'nodes: LOCAL-1: ADA_24 4 GPUs on 1 node, AMPERE_80 4 GPUs on 1 node, 1 node without GPUs',
    'storage: STANDARD from ssd, the default, HIGH_PERFORMANCE from ssd, the default',
    'priority: high',
    'metrics: the cluster has the metrics API',
    expect.stringMatching(/^workers: use the worker API at localhost \(.*\)$/),
    'egress: lan, by the policy py-workloads',
  ]);
});

test('an unsupported version is a note, an unreachable server is missing', async () => {
  answers['/version'] = { gitVersion: 'v1.20.15', major: '1', minor: '20' };
  expect(about(await check(), 'cluster')).toMatchObject([
    { verdict: 'note', advice: expect.stringContaining('1.28 and later') },
  ]);
  answers['/version'] = 503;
  expect(await check()).toMatchObject([{ what: 'cluster', verdict: 'missing', found: expect.any(String) }]);
});

test('a missing required right is missing, a missing optional one is a note', async () => {
  denied = ['create pods', 'delete pods', 'patch pods/resize', 'get secrets'];
  const findings = about(await check(), 'rights');
  expect(findings.map(({ verdict, found }) => [verdict, found])).toEqual([
    ['missing', 'not allowed to create, delete pods; get secrets'],
    ['note', 'not allowed to patch pods/resize (parked workers keep their CPUs)'],
  ]);
  expect(about(await check({}, { isControl: false }), 'rights')).toMatchObject([{ verdict: 'ok' }]);
});

test('an absent namespace is missing; one that cannot be read is assumed to exist', async () => {
  answers['/api/v1/namespaces/gpus'] = 404;
  expect(about(await check(), 'namespace')).toMatchObject([
    { verdict: 'missing', advice: expect.stringContaining('kubectl create namespace gpus') },
  ]);
  answers['/api/v1/namespaces/gpus'] = 403;
  expect(about(await check(), 'namespace')).toMatchObject([{ verdict: 'ok' }]);
});

test('labels that the catalog does not know are reported with the label’s name', async () => {
  answers['/api/v1/nodes'] = { items: [gpuNode('a', 'Tesla-X9', 'mars-1'), node('b', { gpus: 1 })] };
  const findings = await check();
  expect(about(findings, 'nodes').map(({ found }) => found)).toEqual([
    'mars-1: Tesla-X9 4 GPUs on 1 node',
    'LOCAL-1: unlabeled 1 GPUs on 1 node',
  ]);
  expect(about(findings, 'places')[0]!.found).toBe(
    'not in the catalog: mars-1, from label topology.kubernetes.io/region',
  );
  expect(about(findings, 'GPUs').map(({ found }) => found)).toEqual([
    'b have GPUs but no label nvidia.com/gpu.product',
    'not in the catalog: Tesla-X9',
  ]);
});

test('shared GPUs are said to be; slices and they need no entry in the catalog', async () => {
  const items = [gpuNode('a', 'NVIDIA-L4-SHARED', 'EU-RO-1'), gpuNode('b', 'NVIDIA-H200-MIG-1g.18gb', 'EU-RO-1')];
  answers['/api/v1/nodes'] = { items };
  const findings = await check();
  expect(about(findings, 'GPUs').map(({ found }) => found)).toEqual([
    'shared, not isolated: those of pool AMPERE_24_SHARED',
  ]);
  expect(about(findings, 'nodes')[0]!.found).toContain('HOPPER_141_MIG_1G_18GB 4 GPUs on 1 node');
});

test('without usable nodes, or the right to list them, a server cannot run', async () => {
  answers['/api/v1/nodes'] = { items: [node('a', { taint: 'control-plane' }), node('b', { ready: 'False' })] };
  expect(about(await check(), 'nodes')).toMatchObject([
    {
      verdict: 'missing',
      found: 'none usable: of 2, 1 are not ready, 1 are tainted, cordoned or not selected',
    },
  ]);
  answers['/api/v1/nodes'] = 403;
  expect(about(await check(), 'nodes')).toMatchObject([{ verdict: 'missing', found: 'not allowed to list nodes' }]);
});

test('configured storage and priority classes must exist', async () => {
  const findings = await check({
    PODYARD_KUBERNETES_STORAGE_CLASSES: 'STANDARD=ssd,HIGH_PERFORMANCE=nvme',
    PODYARD_KUBERNETES_PRIORITY_CLASSES: 'DEFAULT=low',
  });
  expect(about(findings, 'storage')).toMatchObject([{ verdict: 'note', found: 'there is no storage class nvme' }]);
  expect(about(findings, 'priority')).toMatchObject([{ verdict: 'missing', found: 'there is no priority class low' }]);
  answers['/apis/storage.k8s.io/v1/storageclasses'] = { items: [storageClass('ssd')] };
  expect(about(await check(), 'storage')[0]!.found).toBe(
    'no default storage class, and none for STANDARD, HIGH_PERFORMANCE',
  );
});

test('an unresolvable worker API host is missing inside a cluster and a note outside', async () => {
  const name = { PODYARD_WORKER_API_HOST: 'podyard-workers.invalid' };
  expect(about(await check(name), 'workers')).toMatchObject([{ verdict: 'note' }]);
  expect(about(await check({ ...name, KUBERNETES_SERVICE_HOST: '10.0.0.1' }), 'workers')).toMatchObject([
    { verdict: 'missing', found: 'cannot resolve podyard-workers.invalid from here' },
  ]);
});

test('a policy for workloads is found; whether the network plugin enforces it is left to a try', async () => {
  const policy = (labels: object, policyTypes: string[]) => ({
    metadata: { name: 'py-workloads' },
    spec: { policyTypes, podSelector: { matchLabels: labels } },
  });
  const ours = { 'app.kubernetes.io/managed-by': 'podyard' };
  const path = '/apis/networking.k8s.io/v1/namespaces/gpus/networkpolicies';
  const found = async (items: object[] | number, more = {}) => {
    answers[path] = typeof items === 'number' ? items : { items };
    return about(await check({}, more), 'egress')[0]!.found;
  };
  expect(await found([policy(ours, ['Egress'])])).toBe('lan, by the policy py-workloads');
  expect(await found([policy({}, ['Egress'])])).toBe('lan, by the policy py-workloads');
  const none = 'no NetworkPolicy limits the egress of workers and pods in gpus';
  expect(await found([policy(ours, ['Ingress']), policy({ app: 'other' }, ['Egress'])])).toBe(none);
  expect(await found([])).toBe(none);
  expect(await found(403)).toBe('lan (no permission to check policies)');
  expect(await found([], { egress: 'all' })).toBe('all: workers and pods reach every address');
});

test('a runtime class that does not exist is missing: the cluster would reject every pod with GPUs', async () => {
  const env = { PODYARD_KUBERNETES_GPU_RUNTIME_CLASS: 'nvidia' };
  const ofClass = async () => about(await check(env), 'GPUs').filter(({ found }) => found.includes('runtime class'));
  expect(await ofClass()).toMatchObject([{ verdict: 'missing', found: 'there is no runtime class nvidia' }]);
  answers['/apis/node.k8s.io/v1/runtimeclasses/nvidia'] = {};
  expect(await ofClass()).toMatchObject([{ verdict: 'ok' }]);
});

test('GPUs of a DRA driver are found (recorded from 1.36), and named by the node’s label', async () => {
  const labels = { 'nvidia.com/gpu.product': 'NVIDIA-L4' };
  answers['/api/v1/nodes'] = { items: [node('a', { labels })] };
  const metadata = { name: 'x', uid: 'x', resourceVersion: '1' };
  const devices = [0, 1].map((n) => ({ name: `gpu-${n}`, attributes: { type: { string: 'gpu' } } }));
  const pool = { name: 'a', generation: 1, resourceSliceCount: 1 };
  const slice = { metadata, spec: { driver: 'gpu.nvidia.com', nodeName: 'a', pool, devices } };
  const expression = "device.driver == 'gpu.nvidia.com'";
  const kind = { metadata, spec: { extendedResourceName: 'nvidia.com/gpu', selectors: [{ cel: { expression } }] } };
  answers['/apis/resource.k8s.io/v1/resourceslices'] = { items: [slice] };
  answers['/apis/resource.k8s.io/v1/deviceclasses'] = { items: [kind] };
  expect(about(await check(), 'nodes')).toMatchObject([{ found: 'LOCAL-1: AMPERE_24 2 GPUs on 1 node' }]);
});
