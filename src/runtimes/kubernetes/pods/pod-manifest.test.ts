import { expect, test } from 'vitest';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import type { WorkloadSpec } from '../../runtime.ts';
import { checkEnvironment, environmentSecret, podManifest, registrySecret, serviceName } from './pod-manifest.ts';
import { groupName } from './pod-record.ts';

const SPEC = workloadSpec({ id: 'w1', image: 'team/model:v1', env: { A: 'b' }, diskGb: 20 });

interface Manifest {
  metadata: { name: string; labels: Record<string, string>; annotations: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: any manifest
  spec: any;
}

function manifest(
  more: Partial<WorkloadSpec> = {},
  env: NodeJS.ProcessEnv = {},
  gpuProducts: readonly string[] | null = ['NVIDIA-L4'],
): Manifest {
  const place = { installation: 'inst', settings: readKubernetesSettings(env), gpuProducts };
  return podManifest({ ...SPEC, ...more }, place) as Manifest;
}

const container = (...parts: Parameters<typeof manifest>) => manifest(...parts).spec.containers[0];
const terms = (...parts: Parameters<typeof manifest>) =>
  manifest(...parts).spec.affinity?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms;

test('a pod is locked down, labelled as ours, and never restarts by itself', () => {
  const { metadata, spec } = manifest();
  expect(metadata.name).toBe('podyard-w1');
  expect(metadata.labels).toMatchObject({
    'podyard.dev/id': 'w1',
    'podyard.dev/kind': 'worker',
    'podyard.dev/installation': 'inst',
  });
  expect(spec).toMatchObject({
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
  });
  expect(spec.containers[0].securityContext).toMatchObject({ allowPrivilegeEscalation: false });
  expect(spec.containers[0].envFrom).toEqual([{ secretRef: { name: 'podyard-w1' } }]);
  expect(JSON.stringify(spec)).not.toContain('"b"');
});

test('words of the command reach the program unchanged', () => {
  const args = JSON.stringify({ entrypoint: ['sh', '-c'], cmd: ['echo $(HOME) $$ $x'] });
  expect(container({ args })).toMatchObject({ command: ['sh', '-c'], args: ['echo $$(HOME) $$$$ $$x'] });
  const plain = container({ args: 'serve --port 80' });
  expect(plain).toMatchObject({ args: ['serve', '--port', '80'] });
  expect(plain).not.toHaveProperty('command');
  expect(container()).not.toHaveProperty('args');
});

test('a pod of a group has its label, its name in the group’s domain, and learns its own address', () => {
  const { metadata, spec } = manifest({ kind: 'pod', group: { id: 'abcdefghijklmn', rank: 2 } });
  expect(metadata.labels).toMatchObject({ 'podyard.dev/group': 'abcdefghijklmn' });
  expect(spec).toMatchObject({ hostname: 'rank-2', subdomain: groupName('abcdefghijklmn', 'inst') });
  expect(spec.subdomain).not.toContain('abcdefghijklmn');
  const address = { name: 'NODE_ADDR', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } };
  expect(spec.containers[0].env).toContainEqual(address);
  expect(manifest().metadata.labels).not.toHaveProperty('podyard.dev/group');
  expect(manifest().spec).not.toHaveProperty('subdomain');
});

test('what the cluster’s DNS knows does not contain the id', () => {
  expect(manifest({ id: 'abcdefghijklmn' }).spec.hostname).toMatch(/^[0-9a-f]{16}$/);
  expect(serviceName('abcdefghijklmn', 'inst')).toMatch(/^podyard-[0-9a-f]{16}$/);
});

test('requests equal limits for CPU, memory and GPUs; the disk is only limited', () => {
  const { resources } = container({ cpus: 1.5, memoryBytes: 2 ** 31, gpu: { pool: 'ADA_24', count: 2 } });
  const same = { cpu: '1500m', memory: '2147483648', 'nvidia.com/gpu': '2' };
  expect(resources).toEqual({
    limits: { ...same, 'ephemeral-storage': '20Gi' },
    requests: { ...same, 'ephemeral-storage': '0' },
  });
});

test('a share of a GPU’s CPU and memory is requested, and nothing where GPUs are simulated', () => {
  const spec = { cpus: 6, memoryBytes: 6 * 2 ** 30, requestShare: 5 / 6, gpu: { pool: 'ADA_24', count: 1 } };
  expect(container(spec).resources).toEqual({
    limits: { cpu: '6000m', memory: String(6 * 2 ** 30), 'nvidia.com/gpu': '1', 'ephemeral-storage': '20Gi' },
    requests: { cpu: '5000m', memory: String(5 * 2 ** 30), 'nvidia.com/gpu': '1', 'ephemeral-storage': '0' },
  });
  expect(container(spec, {}, null).resources).toEqual({
    limits: { cpu: '6000m', memory: String(6 * 2 ** 30), 'ephemeral-storage': '20Gi' },
    requests: { cpu: '0m', memory: '0', 'ephemeral-storage': '0' },
  });
  expect(manifest(spec).metadata.annotations).toMatchObject({ 'podyard.dev/cpus': '6' }); // so it can be parked
});

test('workers of an endpoint are spread over nodes, as far as that keeps none from running', () => {
  const { metadata, spec } = manifest({ endpointId: 'e1' });
  expect(metadata.labels).toMatchObject({ 'podyard.dev/endpoint': 'e1' });
  expect(spec.topologySpreadConstraints).toEqual([
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'podyard.dev/endpoint': 'e1' } },
    },
  ]);
  expect(manifest().spec.topologySpreadConstraints).toBeUndefined();
});

test('pool and data center select nodes by their labels', () => {
  const gpu = { pool: 'ADA_24', count: 1 };
  const product = { key: 'nvidia.com/gpu.product', operator: 'In', values: ['NVIDIA-L4'] };
  const region = 'topology.kubernetes.io/region';
  expect(terms()).toBeUndefined();
  expect(terms({ gpu })).toEqual([{ matchExpressions: [product] }]);
  const inRomania = { key: region, operator: 'In', values: ['EU-RO-1'] };
  expect(terms({ gpu, dataCenterId: 'EU-RO-1' })).toEqual([{ matchExpressions: [product, inRomania] }]);
  expect(terms({ dataCenterId: 'EU-RO-1' })).toEqual([{ matchExpressions: [inRomania] }]);
  expect(terms({ gpu, dataCenterId: 'LOCAL-1' })).toEqual([
    { matchExpressions: [product, { key: region, operator: 'DoesNotExist' }] },
    { matchExpressions: [product, { key: region, operator: 'In', values: ['LOCAL-1'] }] },
  ]);
  expect(terms({ gpu, dataCenterId: 'EU-RO-1' }, {}, null)).toBeUndefined();
});

test('a worker that needs a CUDA version goes to nodes whose labels say that version', () => {
  const found = terms({ gpu: { pool: 'ADA_24', count: 1, cudaVersion: '12.8' }, dataCenterId: 'EU-RO-1' });
  const has = (key: string, value: string) => ({ key, operator: 'In', values: [value] });
  expect(found).toHaveLength(2);
  for (const { matchExpressions } of found) {
    expect(matchExpressions).toEqual([
      has('nvidia.com/gpu.product', 'NVIDIA-L4'),
      has('topology.kubernetes.io/region', 'EU-RO-1'),
      has(expect.stringMatching(/^nvidia\.com\/cuda\.runtime(-version)?\.major$/), '12'),
      has(expect.stringMatching(/\.minor$/), '8'),
    ]);
  }
  expect(terms({ gpu: { pool: 'ADA_24', count: 1, cudaVersion: '12.8' } }, {}, null)).toBeUndefined();
});

test('a setting makes pods meet the restricted standard, and one gives them user namespaces', () => {
  const strict = manifest(
    {},
    { PODYARD_KUBERNETES_POD_SECURITY: 'restricted', PODYARD_KUBERNETES_USER_NAMESPACES: 'true' },
  );
  expect(strict.spec.hostUsers).toBe(false);
  expect(strict.spec.securityContext).toEqual({ seccompProfile: { type: 'RuntimeDefault' }, runAsNonRoot: true });
  const strictContainer = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  expect(strict.spec.containers[0].securityContext).toEqual(strictContainer);
  expect(manifest().spec).not.toHaveProperty('hostUsers');
});

test('more labels and annotations reach the pod, and cannot replace Podyard’s own', () => {
  const { metadata } = manifest(
    {},
    {
      PODYARD_KUBERNETES_POD_LABELS: 'kueue.x-k8s.io/queue-name=gpus,podyard.dev/id=x',
      PODYARD_KUBERNETES_POD_ANNOTATIONS: 'sidecar.istio.io/inject=false',
    },
  );
  expect(metadata.labels).toMatchObject({ 'kueue.x-k8s.io/queue-name': 'gpus', 'podyard.dev/id': SPEC.id });
  expect(metadata.annotations).toMatchObject({ 'sidecar.istio.io/inject': 'false' });
  const own = {
    labels: { 'kueue.x-k8s.io/queue-name': 'research' },
    annotations: { 'sidecar.istio.io/inject': 'true' },
  };
  const settings = { PODYARD_KUBERNETES_POD_LABELS: 'kueue.x-k8s.io/queue-name=gpus,a=b' };
  const workers = manifest({ metadata: own }, settings).metadata;
  expect(workers.labels).toMatchObject({ 'kueue.x-k8s.io/queue-name': 'research', a: 'b', 'podyard.dev/id': SPEC.id });
  expect(workers.annotations).toMatchObject(own.annotations);
});

test('settings give pods tolerations, priorities and a runtime class', () => {
  const env = {
    PODYARD_KUBERNETES_TOLERATIONS: 'gpu=yes:NoSchedule',
    PODYARD_KUBERNETES_NODE_SELECTOR: 'for=podyard',
    PODYARD_KUBERNETES_PRIORITY_CLASSES: 'PRIORITY_FLASHBOOT=high,DEFAULT=low',
    PODYARD_KUBERNETES_GPU_RUNTIME_CLASS: 'nvidia',
    PODYARD_KUBERNETES_PULL_POLICY: 'Always',
  };
  const { spec } = manifest({ gpu: { pool: 'ADA_24', count: 1 } }, env);
  expect(spec).toMatchObject({
    nodeSelector: { for: 'podyard' },
    priorityClassName: 'low',
    runtimeClassName: 'nvidia',
  });
  expect(spec.containers[0].imagePullPolicy).toBe('Always');
  expect(spec.tolerations[0]).toEqual({ key: 'gpu', operator: 'Equal', value: 'yes', effect: 'NoSchedule' });
  expect(spec.tolerations).toContainEqual(
    expect.objectContaining({ key: 'node.kubernetes.io/unreachable', tolerationSeconds: 15 }),
  );
  expect(manifest({ isPriority: true }, env).spec.priorityClassName).toBe('high');
  expect(manifest({}, env).spec).not.toHaveProperty('runtimeClassName');
  expect(manifest().spec).not.toHaveProperty('priorityClassName');
});

test('mounts are claims, and shared memory fits data loaders', () => {
  const { spec } = manifest({ mounts: [{ source: 'claim-a', target: '/data' }], memoryBytes: 2 ** 30 });
  expect(spec.volumes).toEqual([
    { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: String(2 ** 29) } },
    { name: 'mount-0', persistentVolumeClaim: { claimName: 'claim-a' } },
  ]);
  expect(spec.containers[0].volumeMounts[1]).toEqual({ name: 'mount-0', mountPath: '/data' });
});

test('a pod gets its node’s address where no public one is configured', () => {
  const nodeAddress = [{ name: 'RUNPOD_PUBLIC_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }];
  const gpu = { pool: 'ADA_24', count: 1 };
  expect(container({ kind: 'pod', gpu }).env).toEqual(nodeAddress);
  expect(container({ kind: 'pod', gpu }, { PODYARD_KUBERNETES_PUBLIC_IP: '192.0.2.7' }).env).toBeUndefined();
  expect(container({ gpu }).env).toBeUndefined();
  expect(container({ gpu, ports: ['80/http'] }).env).toBeUndefined();
  expect(container({ gpu, ports: ['22/tcp'] }).env).toEqual(nodeAddress); // a worker that people look for
});

test('the pod owns the Secret with its environment', () => {
  expect(environmentSecret(SPEC, 'inst', 'uid-1')).toMatchObject({
    metadata: { name: 'podyard-w1', ownerReferences: [{ kind: 'Pod', name: 'podyard-w1', uid: 'uid-1' }] },
    stringData: { A: 'b' },
    immutable: true,
  });
});

test.each(['', '1st', 'a b', 'ä', 'a'.repeat(254)])('the variable name %j is refused', (name) => {
  expect(() => checkEnvironment({ [name]: 'secret' })).toThrow(`'${name}'`);
  expect(() => checkEnvironment({ [name]: 'secret' })).not.toThrow('secret');
});

test.each([
  ['model', 'https://index.docker.io/v1/'],
  ['team/model:v1', 'https://index.docker.io/v1/'],
  ['docker.io/team/model', 'https://index.docker.io/v1/'],
  ['ghcr.io/team/model', 'ghcr.io'],
  ['localhost/model', 'localhost'],
  ['registry:5000/model', 'registry:5000'],
])('credentials for %s are for %s', (image, host) => {
  const secret = registrySecret('R1', image, { username: 'u', password: 'p' }, 'inst') as {
    metadata: { name: string };
    stringData: Record<string, string>;
  };
  expect(secret.metadata.name).toBe('podyard-registry-r1');
  expect(JSON.parse(secret.stringData['.dockerconfigjson']!)).toEqual({
    auths: { [host]: { username: 'u', password: 'p', auth: btoa('u:p') } },
  });
});

test('an id that is no valid name is refused', () => {
  for (const id of ['', 'A', 'a_b', '-a', 'a'.repeat(50)])
    expect(() => manifest({ id })).toThrow('is not a valid workload id');
});

test('no image and no user can take GPUs by the variable of the NVIDIA runtime', () => {
  const variable = { name: 'NVIDIA_VISIBLE_DEVICES', value: 'void' };
  expect(container().env).toContainEqual(variable);
  expect(container({ gpu: { pool: 'ADA_24', count: 1 } }).env).toBeUndefined();
  expect(container({}, {}, null).env).toBeUndefined();
  const secret = environmentSecret(workloadSpec({ env: { A: '1', NVIDIA_VISIBLE_DEVICES: 'all' } }), 'i', 'uid');
  expect(secret).toMatchObject({ stringData: { A: '1' } });
  expect(JSON.stringify(secret)).not.toContain('NVIDIA_VISIBLE_DEVICES');
});
