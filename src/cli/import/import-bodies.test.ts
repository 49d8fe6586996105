import { expect, test } from 'vitest';
import { mergeShapes, splitRule, toEndpointBody as toBody, toTemplateBody } from './import-bodies.ts';

/** The tests give parts of records. */
const toEndpointBody = (record: object) => toBody(record as Parameters<typeof toBody>[0]);

const container = { image: 'i:1', args: '', disk: 20, ports: [], env: { A: '1' }, registry: null };
const shared = { id: 'e1', name: 'x', dataCenterIds: [], networkVolumes: [], timeout: 300_000, flashboot: 'OFF' };
const answered = { ...container, ...shared, createdAt: '2026-11-20T09:30:00Z', requestUrls: { run: 'r' } };
const { registry: _, ...sent } = container;
const { id: __, ...settings } = shared;

test('an endpoint of the newer revision keeps its shape; what says nothing is left out', () => {
  const record = {
    ...answered,
    type: 'QUEUE',
    gpu: { pools: ['ADA_24'], count: 1, excludedTypes: ['NVIDIA L4'], allowedCudaVersions: [], minCudaVersion: null },
    workers: { min: 0, max: 3, idleTimeout: 10 },
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    requestUrls: { run: 'r' },
  };
  const { revision, body } = toEndpointBody(record);
  expect(revision).toBe('2026-08');
  expect(body).toEqual({
    ...sent,
    ...settings,
    type: 'QUEUE',
    gpu: { pools: ['ADA_24'], count: 1, excludedTypes: ['NVIDIA L4'] },
    workers: record.workers,
    scaling: record.scaling,
  });
});

test('a CPU endpoint of the newer revision is sent without the memory, which follows', () => {
  const cpu = [{ id: 'cpu3c', vcpuCount: 4, memory: 8 }];
  const { body } = toEndpointBody({ ...answered, type: 'QUEUE', cpu, workers: {}, scaling: {} });
  expect(body).toHaveProperty('cpu', [{ id: 'cpu3c', vcpuCount: 4 }]);
  expect(body).not.toHaveProperty('gpu');
});

test.each([
  [
    { type: 'QUEUE_BASED', scaling: { type: 'QUEUE_DELAY', value: 1.5, idleTimeout: 0 } },
    { type: 'QUEUE', scaling: { type: 'QUEUE_DELAY', queueDelay: 1.5 }, workers: { min: 0, max: 3, idleTimeout: 1 } },
  ],
  [
    { type: 'QUEUE_BASED', scaling: { type: 'REQUEST_COUNT', value: 1.5, idleTimeout: 9 } },
    { type: 'QUEUE', scaling: { type: 'REQUEST_COUNT', requestCount: 2 }, workers: { min: 0, max: 3 } },
  ],
  [
    { type: 'LOAD_BALANCING', scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 9000 } },
    {
      type: 'LOAD_BALANCER',
      scaling: { type: 'REQUEST_COUNT', requestCount: 4 },
      workers: { min: 0, max: 3, idleTimeout: 3600 },
    },
  ],
])('a CPU endpoint of the older revision, which cannot make one, becomes one of the newer: %o', (given, wanted) => {
  const cpu = { id: 'cpu3c', vcpuCount: 2, memory: 4 };
  const record = { ...answered, ...given, gpu: null, cpu, workers: { min: 0, max: 3 } };
  expect(toEndpointBody(record)).toEqual({
    revision: '2026-08',
    body: { ...sent, ...settings, ...wanted, cpu: [{ id: 'cpu3c', vcpuCount: 2 }] },
  });
});

test('a template keeps what its revision knows', () => {
  const template = {
    ...container,
    id: 't1',
    name: 't',
    mounts: {},
    serverless: true,
    public: false,
    category: 'NVIDIA',
  };
  expect(toTemplateBody(template)).not.toHaveProperty('startSsh');
  const newer = { ...template, startSsh: true, startJupyter: false, allowedCudaVersions: ['12.8'] };
  expect(toTemplateBody(newer)).toMatchObject({ startSsh: true, allowedCudaVersions: ['12.8'] });
});

test('of a server with both revisions, nothing that only one of them shows is lost', () => {
  const gpu = { pools: ['ADA_24'], count: 2 };
  const older = {
    ...answered,
    type: 'LOAD_BALANCING',
    gpu,
    workers: { min: 0, max: 3 },
    scaling: { type: 'QUEUE_DELAY', value: 1.5 },
  };
  const newer = {
    ...answered,
    type: 'LOAD_BALANCER',
    gpu: { ...gpu, allowedCudaVersions: ['12.8'], minCudaVersion: null },
  };
  const cpu = { ...answered, id: 'e2', type: 'QUEUE_BASED', gpu: null, cpu: { id: 'cpu3c', vcpuCount: 2, memory: 4 } };
  const newerCpu = { ...answered, id: 'e2', type: 'QUEUE', cpu: [{ id: 'cpu3c', vcpuCount: 2, memory: 4 }] };
  const [merged, mergedCpu] = mergeShapes([older, cpu] as never, [newerCpu, newer] as never);
  expect(mergedCpu).toBe(newerCpu);
  const made = toEndpointBody(merged!);
  expect(made).toMatchObject({ revision: '2026-07', body: { scaling: older.scaling } });
  const { body, rest } = splitRule(made);
  expect(body.gpu).toEqual(gpu);
  expect(rest).toEqual({ gpu: { pools: ['ADA_24'], allowedCudaVersions: ['12.8'] } });
  expect(splitRule(toEndpointBody(older)).rest).toBeNull();
});
