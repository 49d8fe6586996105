import { expect, test } from 'vitest';
import { type AttentionSources, attentionItems } from './attention.ts';

const NOTHING: AttentionSources = {
  figures: [],
  nameOf: (id) => id,
  pods: [],
  limits: undefined,
  problems: [],
  budgets: [],
};
const items = (sources: Partial<AttentionSources>) => attentionItems({ ...NOTHING, ...sources });
const figure = (id: string, state: 'FAILING' | 'HEALTHY' | 'WAITING_FOR_CAPACITY', reason: string | null = null) => ({
  id,
  state,
  reason,
  since: '2026-08-20T12:00:00Z',
  warnings: [] as string[],
});
const budget = { id: 'b', endpointName: null, amount: '250', spent: '212.4', isStopped: false, passed: [80] };

test('what does not work comes before what waits, and what is well is left out', () => {
  const found = items({
    figures: [figure('w', 'WAITING_FOR_CAPACITY'), figure('h', 'HEALTHY'), figure('f', 'FAILING')],
    pods: [
      { id: 'p', name: 'box', status: 'ERROR', reason: 'it ended with 1' },
      { id: 'q', name: 'fine', status: 'RUNNING', reason: null },
    ],
    problems: ['GPU 1 does not answer'],
    budgets: [budget, { ...budget, id: 'c', isStopped: true }, { ...budget, id: 'd', passed: [] }],
  });
  expect(found.map(({ key }) => key)).toEqual(['GPU 1 does not answer', 'f', 'p', 'c', 'w', 'b']);
  expect(found.map(({ severity }) => severity)).toEqual(['broken', 'broken', 'broken', 'broken', 'scarce', 'scarce']);
});

test('an endpoint is named, with the sentence of its reason and the last line of output', () => {
  const reason = 'its workers end while they start:\nTraceback\nCUDA out of memory';
  const [item] = items({ figures: [figure('f', 'FAILING', reason)], nameOf: () => 'sdxl' });
  expect(item).toMatchObject({
    name: 'sdxl',
    to: '/endpoints/f',
    reason: 'its workers end while they start: CUDA out of memory',
    since: '2026-08-20T12:00:00Z',
  });
  expect(items({ figures: [figure('f', 'FAILING')], nameOf: () => null })[0]!.name).toBeNull(); // on its way
});

test('a warning of an endpoint that works comes before limits, with a link to the endpoint', () => {
  const warning = 'a webhook was not sent: hooks.lan stands for a private or reserved address';
  const [item] = items({ figures: [{ ...figure('h', 'HEALTHY'), warnings: [warning] }] });
  expect(item).toMatchObject({ severity: 'scarce', what: 'Endpoint warns', reason: warning, to: '/endpoints/h' });
});

test('limits count from nine tenths on; unlimited ones and quotas, which can be borrowed, do not', () => {
  const limits = {
    userId: 'u',
    name: 'alice',
    limits: { workers: 10, gpus: null, pods: 10, endpoints: 5, gpuQuota: 1, queuedJobs: 0 },
    own: {},
    usage: { endpoints: 5, pods: 8, workers: 9, gpus: 99, queuedJobs: 0, queuedBytes: 0, logBytesToday: 0 },
    quotas: { workers: { quota: null, used: 0, borrowed: 0 }, gpus: { quota: 1, used: 3, borrowed: 2 } },
  } as unknown as AttentionSources['limits'];
  expect(items({ limits }).map(({ what, reason }) => `${what}. ${reason}`)).toEqual([
    'Limit reached. Endpoints: 5 of 5',
    'Limit nearly reached. Workers at once: 9 of 10',
    'Limit reached. Queued jobs: 0 of 0',
  ]);
});

test('a budget says what is used, and what that stops', () => {
  expect(items({ budgets: [budget] })[0]!.reason).toBe('$212.40 of $250.00 are used this month');
  expect(items({ budgets: [{ ...budget, isStopped: true }] })[0]!.reason).toMatch(/; nothing is started$/);
});
