import { expect, test } from 'vitest';
import {
  changedSettings,
  duplicateValues,
  type Endpoint,
  type EndpointValues,
  endpointValues,
  firstValues,
  hasIdleTimeout,
  NEW_ENDPOINT,
  newEndpointBody,
} from './endpoint-values.ts';

const endpoint = (change: Partial<EndpointValues> = {}, record: object = {}) =>
  ({ id: 'e1', ...newEndpointBody({ ...NEW_ENDPOINT, name: 'greeter', ...change }), ...record }) as Endpoint;

const GPU = endpoint({ gpu: { pools: ['ADA_24'], count: 2 }, env: [{ key: 'MODEL', value: 'small' }] });
const CPU = endpoint({ hardware: 'cpu', cpu: [{ id: 'cpu3c', vcpuCount: 4 }] });

test('a new endpoint is created with all settings and its type', () => {
  const values = { ...NEW_ENDPOINT, name: 'greeter', env: [{ key: 'MODEL', value: 'small' }] };
  expect(newEndpointBody(values)).toEqual({
    ...{ name: 'greeter', type: 'QUEUE', image: '', args: '', disk: 20, ports: [], env: { MODEL: 'small' } },
    ...{ registry: null, dataCenterIds: [], networkVolumes: [], timeout: 300_000, flashboot: 'OFF' },
    gpu: { pools: [], count: 1 },
    workers: { min: 0, max: 3, idleTimeout: 5 },
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  });
});

test('the form begins with the only pool that is here, and with CPUs where there is none', () => {
  const [l4, a40] = ['AMPERE_24', 'AMPERE_48'].map((pool) => ({ id: pool, name: pool, pool, total: 2, free: 0 }));
  expect(firstValues([l4!, { ...a40!, total: 0 }])).toMatchObject({ hardware: 'gpu', gpu: { pools: ['AMPERE_24'] } });
  expect(firstValues([l4!, a40!])).toBe(NEW_ENDPOINT);
  expect(firstValues([]).hardware).toBe('cpu');
  expect(firstValues(undefined)).toBe(NEW_ENDPOINT);
});

test('a CPU endpoint is created with its flavors and no pools', () => {
  const body = newEndpointBody(endpointValues(CPU));
  expect(body.cpu).toEqual([{ id: 'cpu3c', vcpuCount: 4 }]);
  expect(body).not.toHaveProperty('gpu');
  expect(body).not.toHaveProperty('hardware');
});

test('a queue that scales on requests has no idle timeout, a load balancer has', () => {
  const scaling = { type: 'REQUEST_COUNT' as const, queueDelay: 4, requestCount: 2 };
  const workers = { min: 0, max: 3, idleTimeout: 9 };
  expect(newEndpointBody({ ...NEW_ENDPOINT, scaling, workers })).toMatchObject({
    workers: { min: 0, max: 3 },
    scaling: { type: 'REQUEST_COUNT', requestCount: 2 },
  });
  expect(newEndpointBody({ ...NEW_ENDPOINT, scaling, workers }).workers).not.toHaveProperty('idleTimeout');
  const balancer = { ...NEW_ENDPOINT, type: 'LOAD_BALANCER' as const, scaling, workers };
  expect(newEndpointBody(balancer).workers).toEqual(workers);
  expect([NEW_ENDPOINT, { ...NEW_ENDPOINT, scaling }, balancer].map(hasIdleTimeout)).toEqual([true, false, true]);
});

test('an unchanged endpoint has nothing to save', () => {
  expect(changedSettings(GPU, endpointValues(GPU))).toEqual({});
  expect(changedSettings(CPU, endpointValues(CPU))).toEqual({});
});

test('only changed settings are saved; of workers and GPUs, only the changed members', () => {
  const before = endpointValues(GPU);
  const after = {
    ...{ ...before, image: 'acme/w:2', env: [{ key: 'MODEL', value: 'large' }] },
    workers: { ...before.workers, min: 1 },
    gpu: { ...before.gpu, count: 3 },
  };
  expect(changedSettings(GPU, after)).toEqual({
    image: 'acme/w:2',
    workers: { min: 1 },
    gpu: { count: 3 },
    env: { MODEL: 'large' },
  });
});

test('flavors are saved as a whole', () => {
  const cpu = [
    { id: 'cpu3g', vcpuCount: 2 },
    { id: 'cpu3c', vcpuCount: 4 },
  ];
  expect(changedSettings(CPU, { ...endpointValues(CPU), cpu })).toEqual({ cpu });
});

test('scaling is saved as a whole, and with a queue delay comes an idle timeout', () => {
  const scaling = { type: 'REQUEST_COUNT' as const, queueDelay: 4, requestCount: 2 };
  const onRequests = endpoint({ scaling });
  expect(changedSettings(onRequests, { ...endpointValues(onRequests), scaling: NEW_ENDPOINT.scaling })).toEqual({
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    workers: { idleTimeout: 5 },
  });
  expect(changedSettings(GPU, { ...endpointValues(GPU), scaling })).toEqual({
    scaling: { type: 'REQUEST_COUNT', requestCount: 2 },
    workers: {},
  });
});

test('other pools clear the excluded types, the same in another order keep them', () => {
  const gpu = { pools: ['ADA_24', 'AMPERE_24'], count: 1, excludedTypes: ['NVIDIA L4'], allowedCudaVersions: [] };
  const ruled = endpoint({}, { gpu });
  const withPools = (...pools: string[]) =>
    changedSettings(ruled, { ...endpointValues(ruled), gpu: { pools, count: 1 } }).gpu;
  expect(withPools('ADA_24', 'AMPERE_24')).toBeUndefined();
  expect(withPools('AMPERE_24')).toEqual({ pools: ['AMPERE_24'] });
  expect(withPools('AMPERE_24', 'ADA_24')).toEqual({ pools: ['AMPERE_24', 'ADA_24'], excludedTypes: ['NVIDIA L4'] });
});

test('a variable without a name is not a change', () => {
  const before = endpointValues(GPU);
  expect(changedSettings(GPU, { ...before, env: [...before.env, { key: '', value: '' }] })).toEqual({});
});

test('a CPU endpoint fills the form with all its flavors', () => {
  const cpu = [
    { id: 'cpu3c', vcpuCount: 4, memory: 8 },
    { id: 'cpu3g', vcpuCount: 2, memory: 8 },
  ];
  const values = endpointValues({ ...CPU, cpu });
  expect(values.hardware).toBe('cpu');
  expect(values.gpu).toEqual({ pools: [], count: 1 });
  expect(values.cpu).toEqual([
    { id: 'cpu3c', vcpuCount: 4 },
    { id: 'cpu3g', vcpuCount: 2 },
  ]);
});

test('a duplicate has the settings of the other, and a name of its own', () => {
  const models = [{ source: 'hf:org/name@main', tokenSecret: null }];
  const values = duplicateValues(GPU, models);
  expect(values).toEqual({ ...endpointValues(GPU), models, name: 'greeter-copy' });
  expect(newEndpointBody(values).models).toEqual(models);
  expect(newEndpointBody(endpointValues(GPU))).not.toHaveProperty('models');
});
