import { expect, test } from 'vitest';
import { toNewerChange, toNewerCreate } from './write-endpoint.ts';

const cpu = [{ id: 'cpu3c', vcpuCount: 2 }];
const current = { scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 } } as const;

test('a create has what the newer revision requires', () => {
  expect(toNewerCreate({ name: 'a', cpu })).toEqual({
    name: 'a',
    cpu,
    type: 'QUEUE',
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  });
  expect(
    toNewerCreate({ type: 'LOAD_BALANCING', scaling: { value: 1.5, idleTimeout: 9 }, workers: { max: 1 } }),
  ).toEqual({
    type: 'LOAD_BALANCER',
    scaling: { type: 'REQUEST_COUNT', requestCount: 2 },
    workers: { max: 1, idleTimeout: 9 },
  });
});

test('an update changes what is given only; scaling is completed', () => {
  expect(toNewerChange({ image: 'i:2' }, current)).toEqual({ image: 'i:2' });
  expect(toNewerChange({ scaling: { value: 9 } }, current)).toEqual({
    scaling: { type: 'QUEUE_DELAY', queueDelay: 9 },
  });
  expect(toNewerChange({ scaling: { idleTimeout: 60 } }, current)).toEqual({ workers: { idleTimeout: 60 } });
  expect(toNewerChange({ scaling: { type: 'REQUEST_COUNT' } }, current)).toEqual({
    scaling: { type: 'REQUEST_COUNT', requestCount: 4 },
  });
});
