import { expect, test } from 'vitest';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { amountOf, type Node, type Taint } from '../api/objects.ts';
import { clusterCapacity, gpuOfProduct, type NodeRecord, productsOfPool, toNodeRecord } from './nodes.ts';

function node(
  name: string,
  options: {
    gpus?: number;
    product?: string;
    region?: string;
    taints?: Taint[];
    isReady?: boolean;
    isClosed?: boolean;
    labels?: Record<string, string>;
  },
  env: NodeJS.ProcessEnv = {},
): NodeRecord {
  const { gpus = 0, product, region, taints = [], isReady = true, isClosed = false } = options;
  const object: Node = {
    metadata: {
      name,
      uid: name,
      resourceVersion: '1',
      labels: {
        ...(product && { 'nvidia.com/gpu.product': product }),
        ...options.labels,
        ...(region && { 'topology.kubernetes.io/region': region }),
      },
    },
    spec: { taints, unschedulable: isClosed },
    status: {
      allocatable: { cpu: '3920m', memory: '2Gi', 'nvidia.com/gpu': String(gpus) },
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'Unknown', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  };
  return toNodeRecord(object, readKubernetesSettings(env));
}

test('each node with GPUs is an entry, in the local data center unless labelled', () => {
  const nodes = [
    node('a', { gpus: 8, product: 'NVIDIA-GeForce-RTX-4090', region: 'EU-RO-1' }),
    node('b', { gpus: 4, product: 'NVIDIA-H100-80GB-HBM3' }),
    node('c', {}),
  ];
  const own = [
    { nodeName: 'a', count: 2 },
    { nodeName: 'a', count: 1 },
  ];
  const { gpus, cpus, memoryBytes, largest } = clusterCapacity(nodes, own, [{ nodeName: 'b', count: 3 }]);
  expect(gpus).toEqual([
    {
      pool: 'ADA_24',
      gpuTypeId: 'NVIDIA GeForce RTX 4090',
      dataCenterId: 'EU-RO-1',
      total: 8,
      free: 5,
      machine: { cpus: 3.92, memoryBytes: 2 ** 31, gpus: 8 },
    },
    {
      pool: 'ADA_80_PRO',
      gpuTypeId: 'NVIDIA H100 80GB HBM3',
      dataCenterId: 'LOCAL-1',
      total: 1,
      free: 1,
      machine: { cpus: 3.92, memoryBytes: 2 ** 31, gpus: 4 },
    },
  ]);
  expect(cpus).toBeCloseTo(3 * 3.92);
  expect(memoryBytes).toBe(3 * 2 ** 31);
  expect(largest).toEqual({ memoryBytes: 2 ** 31, cpus: 3.92 });
});

test('a node says which CUDA version its driver supports, in the labels of either version of GPU feature discovery', () => {
  const labels = [
    { 'nvidia.com/cuda.runtime.major': '12', 'nvidia.com/cuda.runtime.minor': '4' },
    { 'nvidia.com/cuda.runtime-version.major': '12', 'nvidia.com/cuda.runtime-version.minor': '8' },
    {},
  ];
  const nodes = labels.map((labels, i) => node(`n${i}`, { gpus: 1, product: 'NVIDIA-L4', labels }));
  expect(clusterCapacity(nodes, [], []).gpus.map(({ cudaVersion }) => cudaVersion)).toEqual([
    '12.4',
    '12.8',
    undefined,
  ]);
});

test('free is never negative, even when a node lost GPUs', () => {
  const [entry] = clusterCapacity([node('a', { gpus: 1 })], [{ nodeName: 'a', count: 2 }], []).gpus;
  expect(entry).toMatchObject({ total: 1, free: 0 });
});

test('unusable nodes do not count', () => {
  const taint = (key: string, effect: Taint['effect']): Taint => ({ key, effect });
  const without = [
    node('unready', { gpus: 1, isReady: false }),
    node('closed', { gpus: 1, isClosed: true }),
    node('tainted', { gpus: 1, taints: [taint('team', 'NoSchedule')] }),
    node('not selected', { gpus: 1 }, { PODYARD_KUBERNETES_NODE_SELECTOR: 'for=podyard' }),
  ];
  expect(clusterCapacity(without, [], [])).toEqual({ gpus: [], cpus: 0, memoryBytes: 0, places: [] });
  const fine = [
    node('gpu taint', { gpus: 1, taints: [taint('nvidia.com/gpu', 'NoSchedule')] }),
    node('rather not', { gpus: 1, taints: [taint('team', 'PreferNoSchedule')] }),
  ];
  expect(clusterCapacity(fine, [], []).gpus).toHaveLength(2);
});

test.each([
  ['NVIDIA-GeForce-RTX-4090', 'ADA_24', 'NVIDIA GeForce RTX 4090'],
  ['NVIDIA-GeForce-RTX-4090-SHARED', 'ADA_24_SHARED', 'NVIDIA GeForce RTX 4090 SHARED'],
  ['NVIDIA-A100-SXM4-80GB-MIG-1g.10gb', 'AMPERE_80_MIG_1G_10GB', 'NVIDIA A100-SXM4-80GB MIG 1g.10gb'],
  ['nvidia_a100-sxm4-80gb', 'AMPERE_80', 'NVIDIA A100-SXM4-80GB'],
  ['ADA_24', 'ADA_24', 'NVIDIA GeForce RTX 4090'],
  ['My-Accelerator', 'My-Accelerator', 'My-Accelerator'],
])('the label %s means pool %s', (product, pool, gpuTypeId) => {
  expect(gpuOfProduct(product)).toEqual({ pool, gpuTypeId });
});

test('a pool matches every spelling that nodes use', () => {
  const nodes = [node('a', { product: 'nvidia-l4' }), node('b', { product: 'NVIDIA-L40' })];
  const products = productsOfPool('ADA_24', nodes);
  expect(products).toEqual(expect.arrayContaining(['ADA_24', 'NVIDIA-GeForce-RTX-4090']));
  expect(products).not.toContain('NVIDIA-L40');
});

test('one type of a pool matches only its own spellings', () => {
  const nodes = [node('a', { product: 'nvidia-l4' }), node('b', { product: 'NVIDIA-GeForce-RTX-4090' })];
  expect(productsOfPool('AMPERE_24', nodes, 'NVIDIA L4').sort()).toEqual(['NVIDIA-L4', 'nvidia-l4']);
});

test.each([
  ['500m', 0.5],
  ['2', 2],
  ['2Gi', 2 ** 31],
  ['1e3', 1000],
  ['128974848', 128_974_848],
  ['129M', 129e6],
  ['12345678n', 0.012345678],
  ['', 0],
  ['many', 0],
  [undefined, 0],
])('the quantity %s is %d', (text, amount) => {
  expect(amountOf(text)).toBeCloseTo(amount, 9);
});

test('vCPUs and memory are added up by data center', () => {
  const nodes = ['EU-RO-1', 'EU-RO-1', ''].map((region, i) => node(`n${i}`, { region }));
  const [one] = nodes;
  expect(clusterCapacity(nodes, [], []).places).toEqual([
    { dataCenterId: 'EU-RO-1', cpus: 2 * one!.cpus, memoryBytes: 2 * one!.memoryBytes },
    { dataCenterId: 'LOCAL-1', cpus: one!.cpus, memoryBytes: one!.memoryBytes },
  ]);
});
