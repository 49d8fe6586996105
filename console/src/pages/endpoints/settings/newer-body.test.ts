import { expect, test } from 'vitest';
import { type EndpointValues, NEW_ENDPOINT } from './endpoint-values.ts';
import { toNewerChange, toNewerCreate } from './newer-body.ts';

const CPU: EndpointValues = { ...NEW_ENDPOINT, name: 'small', hardware: 'cpu', cpus: [{ id: 'cpu3c', vcpuCount: 4 }] };

test('a CPU endpoint is created with its flavor and no pools, as the newer revision spells it', () => {
  const body = toNewerCreate(CPU);
  expect(body).toMatchObject({
    name: 'small',
    type: 'QUEUE',
    cpu: [{ id: 'cpu3c', vcpuCount: 4 }],
    workers: { min: 0, max: 3, idleTimeout: 5 },
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  });
  expect(body).not.toHaveProperty('gpu');
  expect(body).not.toHaveProperty('hardware');
});

test('a queue that scales on requests has no idle timeout, a load balancer has', () => {
  const scaling = { type: 'REQUEST_COUNT' as const, value: 1.5, idleTimeout: 9 };
  expect(toNewerCreate({ ...CPU, scaling })).toMatchObject({
    workers: { min: 0, max: 3 },
    scaling: { type: 'REQUEST_COUNT', requestCount: 2 },
  });
  expect(toNewerCreate({ ...CPU, type: 'LOAD_BALANCING', scaling })).toMatchObject({
    type: 'LOAD_BALANCER',
    workers: { idleTimeout: 9 },
  });
});

test('only what changed is saved', () => {
  expect(toNewerChange(CPU, CPU)).toEqual({});
  expect(toNewerChange(CPU, { ...CPU, image: 'i:2', cpus: [{ id: 'cpu3g', vcpuCount: 2 }, ...CPU.cpus] })).toEqual({
    image: 'i:2',
    cpu: [
      { id: 'cpu3g', vcpuCount: 2 },
      { id: 'cpu3c', vcpuCount: 4 },
    ],
  });
  expect(toNewerChange(CPU, { ...CPU, scaling: { ...CPU.scaling, idleTimeout: 60 } })).toEqual({
    workers: { idleTimeout: 60 },
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  });
});
