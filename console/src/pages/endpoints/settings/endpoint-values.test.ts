import { expect, test } from 'vitest';
import { changedSettings, type Endpoint, endpointValues, NEW_ENDPOINT, newEndpointBody } from './endpoint-values.ts';

const ENDPOINT = {
  id: 'e1',
  ...newEndpointBody({ ...NEW_ENDPOINT, name: 'greeter', gpu: { pools: ['ADA_24'], count: 2 } }),
  env: { MODEL: 'small' },
} as unknown as Endpoint;

test('a new endpoint is created with all settings and its type', () => {
  const values = { ...NEW_ENDPOINT, name: 'greeter', env: [{ key: 'MODEL', value: 'small' }] };
  const { hardware: _, cpus: __, ...same } = NEW_ENDPOINT;
  expect(newEndpointBody(values)).toEqual({ ...same, name: 'greeter', env: { MODEL: 'small' } });
});

test('an unchanged endpoint has nothing to save', () => {
  const values = endpointValues(ENDPOINT);
  expect(changedSettings(values, endpointValues(ENDPOINT))).toEqual({});
});

test('only changed settings are saved, each as a whole', () => {
  const before = endpointValues(ENDPOINT);
  const after = { ...before, image: 'acme/w:2', workers: { min: 1, max: 3 }, env: [{ key: 'MODEL', value: 'large' }] };
  expect(changedSettings(before, after)).toEqual({
    image: 'acme/w:2',
    workers: { min: 1, max: 3 },
    env: { MODEL: 'large' },
  });
});

test('a variable without a name is not a change', () => {
  const before = endpointValues(ENDPOINT);
  expect(changedSettings(before, { ...before, env: [...before.env, { key: '', value: '' }] })).toEqual({});
});

test('a CPU endpoint fills the form with its flavor', () => {
  const cpu = { id: 'cpu3c', vcpuCount: 4, memory: 8 };
  const values = endpointValues({ ...ENDPOINT, gpu: null, cpu } as unknown as Endpoint);
  expect(values).toMatchObject({ hardware: 'cpu', cpus: [{ id: 'cpu3c', vcpuCount: 4 }] });
  const all = [cpu, { id: 'cpu3g', vcpuCount: 2, memory: 8 }];
  expect(endpointValues({ ...ENDPOINT, gpu: null, cpu } as unknown as Endpoint, all).cpus).toEqual([
    { id: 'cpu3c', vcpuCount: 4 },
    { id: 'cpu3g', vcpuCount: 2 },
  ]);
});

test('an endpoint without GPUs or type fills the form with defaults', () => {
  const { gpu: _, type: __, ...cpuOnly } = ENDPOINT;
  expect(endpointValues(cpuOnly as Endpoint)).toMatchObject({ type: 'QUEUE_BASED', gpu: { pools: [], count: 1 } });
});
