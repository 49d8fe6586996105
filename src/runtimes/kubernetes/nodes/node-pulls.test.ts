import { expect, test } from 'vitest';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import type { ApiObject, ContainerStatus } from '../api/objects.ts';
import { couldRun, hasPulled, isAmong, pullPod } from './node-pulls.ts';
import { toNodeRecord } from './nodes.ts';

const SETTINGS = readKubernetesSettings({ PODYARD_KUBERNETES_POD_LABELS: 'team=ml' });
const nodeOf = ({ product, region, isReady = true }: { product?: string; region?: string; isReady?: boolean }) =>
  toNodeRecord(
    {
      metadata: {
        ...{ name: 'n', uid: 'u', resourceVersion: '1' },
        labels: {
          ...(product && { 'nvidia.com/gpu.product': product }),
          ...(region && { 'topology.kubernetes.io/region': region }),
        },
      },
      status: {
        allocatable: { cpu: '4', ...(product && { 'nvidia.com/gpu': '1' }) },
        conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      },
    } as ApiObject,
    SETTINGS,
  );

test('an image is pulled to the nodes where workers could run: usable ones with a pool and in a data center of the endpoint', () => {
  const wanted = { gpuPools: ['ADA_24'], dataCenterIds: [] };
  expect(couldRun(nodeOf({ product: 'NVIDIA-GeForce-RTX-4090' }), wanted, false)).toBe(true);
  expect(couldRun(nodeOf({ product: 'NVIDIA-A100-SXM4-80GB' }), wanted, false)).toBe(false);
  expect(couldRun(nodeOf({}), wanted, false)).toBe(false);
  expect(couldRun(nodeOf({}), wanted, true)).toBe(true); // simulated ones are everywhere
  expect(couldRun(nodeOf({}), { gpuPools: [], dataCenterIds: [] }, false)).toBe(true);
  expect(couldRun(nodeOf({ region: 'EU-RO-1' }), { gpuPools: [], dataCenterIds: ['LOCAL-1'] }, false)).toBe(false);
  expect(couldRun(nodeOf({}), { gpuPools: [], dataCenterIds: ['LOCAL-1'] }, false)).toBe(true);
  expect(couldRun(nodeOf({ isReady: false }), { gpuPools: [], dataCenterIds: [] }, true)).toBe(false);
});

test.each([
  ['nginx', 'docker.io/library/nginx:latest', true],
  ['nginx:1.27', 'docker.io/library/nginx:latest', false],
  ['ghcr.io/a/b:v1', 'ghcr.io/a/b:v1', true],
  [`ghcr.io/a/b@sha256:${'0'.repeat(64)}`, `ghcr.io/a/b@sha256:${'0'.repeat(64)}`, true],
  ['a/b:v1', 'ghcr.io/a/b:v1', false],
])('whether a node has %s, of which it reports %s: %s', (image, name, isThere) => {
  expect(isAmong(image, [name])).toBe(isThere);
});

test.each<[string, ContainerStatus['state'] | undefined, boolean]>([
  ['that has no container yet', undefined, false],
  ['that waits', { waiting: { reason: 'ContainerCreating' } }, false],
  ['whose program is not there', { terminated: { exitCode: 128 } }, true],
  ['that may not run as root', { waiting: { reason: 'CreateContainerConfigError' } }, true],
  ['whose program cannot be run', { waiting: { reason: 'RunContainerError' } }, true],
])('a pod %s has pulled: %#', (_, state, isThere) => {
  const containerStatuses = state ? [{ name: 'workload', state }] : [];
  expect(hasPulled({ status: { phase: 'Pending', containerStatuses } })).toBe(isThere);
});

test('an image that cannot be pulled, and a node that takes no pod, are told as the kubelet tells', () => {
  const state = { waiting: { reason: 'ErrImagePull', message: 'not found' } };
  const failing = { status: { containerStatuses: [{ name: 'workload', state }] } };
  expect(() => hasPulled(failing)).toThrow('ErrImagePull: not found');
  const full = { status: { phase: 'Failed', reason: 'OutOfpods', message: 'no room' } } as const;
  expect(() => hasPulled(full)).toThrow('OutOfpods: no room');
});

test('the pod that pulls is no workload, runs nothing, asks for nothing and has the credentials of the registry', () => {
  const registry = { id: 'R1', auth: { username: 'u', password: 'p' } };
  const place = { cluster: { settings: SETTINGS }, installation: 'inst' };
  const { metadata, spec } = pullPod({ image: 'a/b:v1', registry }, 'node-1', place);
  expect(Object.keys(metadata.labels)).not.toContain('podyard.dev/id');
  expect(metadata.labels).toMatchObject({ team: 'ml', 'podyard.dev/installation': 'inst' });
  expect(spec).toMatchObject({
    ...{ nodeName: 'node-1', restartPolicy: 'Never', automountServiceAccountToken: false },
    imagePullSecrets: [{ name: 'podyard-registry-r1' }],
    containers: [
      { image: 'a/b:v1', imagePullPolicy: 'IfNotPresent', resources: { requests: { cpu: '0', memory: '0' } } },
    ],
  });
  expect(JSON.stringify(spec)).not.toContain('"password"');
});
