import { expect, test } from 'vitest';
import type { PriceList } from '../../ui/forms/hourly-price.ts';
import { NEW_CLUSTER } from '../clusters/cluster-values.ts';
import { clusterSummary, podSummary } from './pod-summary.ts';
import { NEW_POD } from './pod-values.ts';

const LIST = {
  gpus: [{ id: '4090', pool: 'ADA_24', price: { secure: 0.7, serverless: 0.6 } }],
  cpus: [{ id: 'cpu3c', price: { securePerVcpu: 0.03, serverlessPerVcpu: 0.036 } }],
  capacity: [{ id: '4090', pool: 'ADA_24', total: 4, free: 1 }],
} as unknown as PriceList;

test('a pod costs its GPUs or vCPUs at the price of pods, from its start on', () => {
  const gpu = podSummary({ ...NEW_POD, gpu: { id: '4090', count: 1 }, ports: ['80/http', '22/tcp'] }, LIST);
  expect(gpu).toMatchObject({ price: '$0.70', warning: null });
  expect(gpu.facts).toEqual([
    { label: 'A day', value: '$16.80' },
    { label: 'Starts', value: 'one container at once, which runs until you stop it' },
    { label: 'Gets', value: '1 URL' },
    { label: 'Free now', value: '1 of 4 GPUs' },
  ]);
  expect(podSummary({ ...NEW_POD, hardware: 'cpu', cpu: { id: 'cpu3c', vcpuCount: 4 } }, LIST).price).toBe('$0.12');
  expect(podSummary(NEW_POD, LIST)).toMatchObject({ price: null, warning: null });
});

test('storage is said with its place; its price is not in the hourly one', () => {
  const mount = { kind: 'persistent', sizeGb: 50, volumeId: '', path: '/data' } as const;
  expect(podSummary({ ...NEW_POD, mount }, LIST).facts).toContainEqual({ label: 'Keeps', value: '50 GB at /data' });
});

test('a cluster costs all its pods, starts them at once, and says when it waits', () => {
  const summary = clusterSummary({ ...NEW_CLUSTER, gpu: { id: '4090', count: 1 }, podCount: 2 }, LIST);
  expect(summary).toMatchObject({ price: '$1.40', warning: 'It waits until 2 GPUs are free.' });
  expect(summary.facts).toContainEqual({ label: 'Starts', value: '2 pods at once, or none' });
  const unknown = clusterSummary({ ...NEW_CLUSTER, gpu: { id: '4090', count: 1 } }, { ...LIST, capacity: undefined });
  expect(unknown.warning).toBeNull();
});
