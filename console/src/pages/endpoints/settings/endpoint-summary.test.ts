import { expect, test } from 'vitest';
import type { PriceList } from '../../../ui/forms/hourly-price.ts';
import { endpointSummary } from './endpoint-summary.ts';
import { type Endpoint, type EndpointValues, endpointValues, NEW_ENDPOINT } from './endpoint-values.ts';

const LIST = {
  gpus: [
    { id: 'l4', pool: 'AMPERE_24', price: { secure: 0.5, serverless: 0.4 } },
    { id: '4090', pool: 'ADA_24', price: { secure: 0.7, serverless: 0.6 } },
    { id: 'pods only', pool: null, price: { secure: 9 } },
  ],
  cpus: [{ id: 'cpu3c', price: { securePerVcpu: 0.03, serverlessPerVcpu: 0.036 } }],
  capacity: [{ id: '4090', pool: 'ADA_24', total: 8, free: 3 }],
} as unknown as PriceList;

const summaryOf = (values: Partial<EndpointValues>, list = LIST) =>
  endpointSummary({ ...NEW_ENDPOINT, ...values }, list);
const factsOf = (values: Partial<EndpointValues>) =>
  Object.fromEntries(summaryOf(values).facts.map(({ label, value }) => [label, value]));

test('a worker costs its GPUs, at the price of workers; with several pools from the cheapest to the dearest', () => {
  expect(summaryOf({ gpu: { pools: ['ADA_24'], count: 2 } }).price).toBe('$1.20');
  expect(summaryOf({ gpu: { pools: ['ADA_24', 'AMPERE_24'], count: 1 } }).price).toBe('$0.40 to $0.60');
  expect(summaryOf({ hardware: 'cpu', cpu: [{ id: 'cpu3c', vcpuCount: 4 }] }).price).toBe('$0.144');
});

test('without hardware, or while prices load, there is no price, and the note says so', () => {
  expect(summaryOf({})).toMatchObject({ price: null, priceNote: 'Choose hardware to see the price' });
  expect(summaryOf({ gpu: { pools: ['ADA_24'], count: 1 } }, {}).price).toBeNull();
});

test('it says what costs at rest and at most, what starts, and what is free', () => {
  const gpu = { pools: ['ADA_24'], count: 1 };
  expect(factsOf({ gpu, workers: { min: 0, max: 3, idleTimeout: 5 } })).toEqual({
    'At rest': 'nothing',
    'At most': '$1.80 an hour, 3 workers',
    Starts: 'a worker, with the first job',
    'Free now': '3 of 8 GPUs',
  });
  expect(factsOf({ gpu, workers: { min: 2, max: 3, idleTimeout: 5 } })).toMatchObject({
    'At rest': '$1.20 an hour, 2 workers',
    Starts: '2 workers at once',
  });
  expect(factsOf({ gpu, workers: { min: 0, max: 0, idleTimeout: 5 } }).Starts).toContain('paused');
  expect(factsOf({ gpu, type: 'LOAD_BALANCER' }).Starts).toBe('a worker, with the first request');
});

test('an edit says what changes, and whether workers are replaced', () => {
  const endpoint = {
    ...{ id: 'e', name: 'echo', type: 'QUEUE', image: 'a:1', args: '', disk: 20, ports: [], env: {}, registry: null },
    ...{ gpu: { pools: ['ADA_24'], count: 1 }, workers: { min: 0, max: 3, idleTimeout: 5 }, dataCenterIds: [] },
    ...{ scaling: { type: 'QUEUE_DELAY', queueDelay: 4 }, networkVolumes: [], timeout: 300_000, flashboot: 'OFF' },
  } as unknown as Endpoint;
  const values = endpointValues(endpoint);
  const edit = (change: Partial<EndpointValues>) => endpointSummary({ ...values, ...change }, LIST, { endpoint });
  expect(edit({}).changes).toEqual([]);
  expect(edit({ workers: { ...values.workers, max: 5 } })).toMatchObject({
    changes: [{ label: 'Max workers', before: '3', after: '5' }],
    effect: 'Takes effect at once. Makes no new version, and replaces no worker.',
  });
  expect(edit({ image: 'a:2' })).toMatchObject({
    changes: [{ label: 'Image', before: 'a:1', after: 'a:2' }],
    effect: expect.stringMatching(/^Makes a new version\. Its workers replace/),
  });
});
