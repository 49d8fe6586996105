import { expect, test } from 'vitest';
import { readKubernetesSettings } from './kubernetes-settings.ts';

test('without variables, a cluster with NVIDIA’s default names is assumed', () => {
  expect(readKubernetesSettings({})).toEqual({
    kubeconfig: null,
    context: null,
    inCluster: null,
    namespace: null,
    gpuLabel: 'nvidia.com/gpu.product',
    dataCenterLabel: 'topology.kubernetes.io/region',
    gpuResource: 'nvidia.com/gpu',
    gpuRuntimeClass: null,
    storageClasses: {},
    accessMode: 'ReadWriteMany',
    tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
    nodeSelector: {},
    priorityClasses: { priority: null, other: null },
    pullPolicy: null,
    podSecurity: 'baseline',
    hasUserNamespaces: false,
    podLabels: {},
    podAnnotations: {},
    pendingMs: 120_000,
    modelsImage: null,
    pullSecrets: [],
    modelsPath: null,
    modelsGb: null,
    serviceType: 'NodePort',
    publicIp: null,
    workerApiHost: null,
  });
});

test('lists are parsed item by item', () => {
  const settings = readKubernetesSettings({
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
    PODYARD_KUBERNETES_STORAGE_CLASSES: 'STANDARD=slow, HIGH_PERFORMANCE=fast',
    PODYARD_KUBERNETES_TOLERATIONS: 'a,b=c:NoExecute,d=:NoSchedule',
    PODYARD_KUBERNETES_NODE_SELECTOR: 'pool=gpu',
    PODYARD_KUBERNETES_PRIORITY_CLASSES: 'PRIORITY_FLASHBOOT=high',
    PODYARD_KUBERNETES_SERVICE_TYPE: 'none',
  });
  expect(settings).toMatchObject({
    inCluster: { host: '10.0.0.1', port: '443' },
    storageClasses: { STANDARD: 'slow', HIGH_PERFORMANCE: 'fast' },
    nodeSelector: { pool: 'gpu' },
    priorityClasses: { priority: 'high', other: null },
    serviceType: null,
  });
  expect(settings.tolerations).toEqual([
    { key: 'a', operator: 'Exists' },
    { key: 'b', operator: 'Equal', value: 'c', effect: 'NoExecute' },
    { key: 'd', operator: 'Equal', value: '', effect: 'NoSchedule' },
  ]);
  expect(readKubernetesSettings({ PODYARD_KUBERNETES_TOLERATIONS: '' }).tolerations).toEqual([]);
});

test.each([
  ['STORAGE_CLASSES', 'FAST=x', "has 'FAST=x', but takes STANDARD=<name>,HIGH_PERFORMANCE=<name>"],
  ['TOLERATIONS', 'a:Never', "has 'a:Never', but takes <key>[=<value>][:<effect>]"],
  ['NODE_SELECTOR', 'gpu', "has 'gpu', but takes <label>=<value>"],
  ['ACCESS_MODE', 'Any', "is 'Any', but must be one of ReadWriteMany, ReadWriteOnce, ReadWriteOncePod"],
  ['SERVICE_TYPE', 'Ingress', "is 'Ingress', but must be one of NodePort, LoadBalancer, none"],
  ['PENDING_SECONDS', 'long', "is 'long', but must be a whole number from 0 to 86400"],
])('PODYARD_KUBERNETES_%s=%s is refused with a sentence', (name, value, sentence) => {
  const variable = `PODYARD_KUBERNETES_${name}`;
  expect(() => readKubernetesSettings({ [variable]: value })).toThrow(`${variable} ${sentence}`);
});
