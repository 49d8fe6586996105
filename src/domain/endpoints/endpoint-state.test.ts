import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENDPOINT_STATES, type EndpointFacts, endpointState, type WorkerCounts } from './endpoint-state.ts';

const NOW = Date.UTC(2026, 10, 20, 10);
const ago = (seconds: number) => new Date(NOW - seconds * 1000);
const NONE: WorkerCounts = { ready: 0, starting: 0, throttled: 0, unhealthy: 0, outdated: 0, frozen: 0 };
type Given = Partial<Omit<EndpointFacts, 'workers'>> & { workers?: Partial<WorkerCounts> };
const facts = ({ workers, ...more }: Given): EndpointFacts => ({
  version: 3,
  newestVersion: 3,
  trialFailure: null,
  workersMin: 0,
  workersMax: 3,
  isRolloutPaused: false,
  releasedAt: null,
  waiting: 0,
  running: 0,
  throttledSince: null,
  startingSince: null,
  unhealthySince: null,
  throttledReason: null,
  unhealthyReason: null,
  losses: null,
  lastExitAt: null,
  limitedSince: null,
  limitReason: null,
  budget: null,
  webhookRefusal: null,
  ...more,
  workers: { ...NONE, ...workers },
});
const losses = (more: Partial<NonNullable<EndpointFacts['losses']>>) => ({
  failedStarts: 0,
  failingSince: null,
  inRow: 1,
  rowSince: ago(600),
  lastAt: ago(10),
  lastReason: 'it exited with code 1:\nTraceback\nValueError: no model',
  ...more,
});

/** Each row of docs/states.md, "Endpoint": what is known, the state, since when, and why. */
const ROWS: [string, Given, string, Date | null, string | null][] = [
  ['workers run', { workers: { ready: 2 } }, 'HEALTHY', null, null],
  ['one is ready and another starts', { workers: { ready: 1, starting: 1 }, waiting: 9 }, 'HEALTHY', null, null],
  ['it may not run', { workersMax: 0, waiting: 4 }, 'PAUSED', null, 'workers.max is 0, so nothing runs'],
  [
    'its roll-out is paused half way',
    { isRolloutPaused: true, workers: { ready: 4, outdated: 3 } },
    'PAUSED',
    null,
    'the roll-out of version 3 is paused: 3 of 4 workers run older ones',
  ],
  ['its paused roll-out is complete', { isRolloutPaused: true, workers: { ready: 4 } }, 'HEALTHY', null, null],
  ['nothing is to do', { lastExitAt: ago(60) }, 'SCALED_TO_ZERO', ago(60), null],
  ['its workers are frozen', { workers: { frozen: 2 } }, 'SCALED_TO_ZERO', null, '2 frozen, thawed when work arrives'],
  ['its last worker was lost after it was ready', { losses: losses({ inRow: 1 }) }, 'SCALED_TO_ZERO', null, null],
  ['work arrives', { waiting: 1 }, 'STARTING', null, null],
  ['it keeps workers, and has none yet', { workersMin: 1 }, 'STARTING', null, null],
  ['a worker starts', { workers: { starting: 1 }, startingSince: ago(5) }, 'STARTING', ago(5), null],
  [
    'one starts and another finds no place',
    { workers: { starting: 1, throttled: 1 }, startingSince: ago(5) },
    'STARTING',
    ago(5),
    null,
  ],
  [
    'no worker finds a place',
    { workers: { throttled: 2 }, throttledSince: ago(90), throttledReason: 'no capacity: ADA_24 has 0 of 4 GPUs free' },
    'WAITING_FOR_CAPACITY',
    ago(90),
    'no capacity: ADA_24 has 0 of 4 GPUs free',
  ],
  [
    'a limit of its user allows no worker',
    {
      waiting: 1,
      limitedSince: ago(8),
      limitReason: 'a job waits and there is no worker; your account has 4 of 4 workers',
    },
    'WAITING_FOR_CAPACITY',
    ago(8),
    'a job waits and there is no worker; your account has 4 of 4 workers',
  ],
  [
    'work waits for more workers than find a place',
    { workers: { ready: 1, throttled: 2 }, waiting: 5, throttledSince: ago(90), throttledReason: 'no capacity' },
    'WAITING_FOR_CAPACITY',
    ago(90),
    '1 of 3 workers ready: no capacity',
  ],
  ['a worker finds no place, and no work waits', { workers: { ready: 1, throttled: 1 } }, 'HEALTHY', null, null],
  [
    'its last start failed',
    { losses: losses({ failedStarts: 1, failingSince: ago(10) }) },
    'FAILING',
    ago(10),
    'the last start failed: it exited with code 1:\nTraceback\nValueError: no model',
  ],
  [
    'the new release fails while the old one runs',
    { workers: { ready: 2, outdated: 2 }, losses: losses({ failedStarts: 5, failingSince: ago(400) }) },
    'FAILING',
    ago(400),
    'the last 5 starts failed: it exited with code 1:\nTraceback\nValueError: no model',
  ],
  [
    'ready workers are lost again and again',
    { workers: { ready: 1 }, losses: losses({ inRow: 3 }) },
    'FAILING',
    ago(600),
    'the last 3 workers ended unexpectedly: it exited with code 1:\nTraceback\nValueError: no model',
  ],
  [
    'that was a while ago',
    { workers: { ready: 1 }, losses: losses({ inRow: 3, lastAt: ago(301) }) },
    'HEALTHY',
    null,
    null,
  ],
  [
    'its workers are unhealthy',
    { workers: { unhealthy: 2 }, unhealthySince: ago(30), unhealthyReason: "secret 'token' is missing" },
    'FAILING',
    ago(30),
    "all 2 workers are unhealthy: secret 'token' is missing",
  ],
  ['one of its workers is unhealthy', { workers: { ready: 1, unhealthy: 1 } }, 'HEALTHY', null, null],
  [
    'a release rolls out',
    { workers: { ready: 3, starting: 1, outdated: 3 }, releasedAt: ago(40) },
    'ROLLING_OUT',
    ago(40),
    '1 of 4 workers on version 3',
  ],
];

test.each(ROWS)('%s', (_, given, state, since, reason) => {
  expect(endpointState(facts(given), NOW)).toEqual({ state, since, reason, warnings: [] });
});

test('a refused webhook is a warning and changes no state', () => {
  const webhookRefusal = 'hooks.lan stands for a private or reserved address';
  expect(endpointState(facts({ webhookRefusal, workers: { ready: 1 } }), NOW)).toEqual({
    ...endpointState(facts({ workers: { ready: 1 } }), NOW),
    warnings: [`a webhook was not sent: ${webhookRefusal}`],
  });
});

test('a release that failed its trial is a warning, without its output', () => {
  const trialFailure = 'it exited with code 1:\nTraceback\nKeyError: TOKEN';
  const warningsOf = (given: Given) => endpointState(facts({ trialFailure, ...given }), NOW).warnings;
  expect(warningsOf({ newestVersion: 4 })).toEqual([
    'version 4 failed its trial, and version 3 serves instead: it exited with code 1',
  ]);
  expect(warningsOf({})).toEqual(['version 3 failed its trial: it exited with code 1']);
});

test('every state is in the table', () => {
  expect(new Set(ROWS.map(([, , state]) => state))).toEqual(new Set(ENDPOINT_STATES));
});

const count = fc.nat(3);
const date = fc.option(fc.nat(1000).map(ago), { nil: null });
const anyFacts: fc.Arbitrary<EndpointFacts> = fc.record({
  version: fc.integer({ min: 1, max: 9 }),
  newestVersion: fc.integer({ min: 1, max: 9 }),
  trialFailure: fc.option(fc.string(), { nil: null }),
  workersMin: count,
  workersMax: count,
  isRolloutPaused: fc.boolean(),
  releasedAt: date,
  waiting: count,
  running: count,
  workers: fc.record({
    ready: count,
    starting: count,
    throttled: count,
    unhealthy: count,
    outdated: count,
    frozen: count,
  }),
  throttledSince: date,
  startingSince: date,
  unhealthySince: date,
  throttledReason: fc.option(fc.string(), { nil: null }),
  unhealthyReason: fc.option(fc.string(), { nil: null }),
  losses: fc.option(
    fc.record({
      failedStarts: count,
      failingSince: date,
      inRow: count,
      rowSince: date,
      lastAt: fc.nat(1000).map(ago),
      lastReason: fc.option(fc.string(), { nil: null }),
    }),
    { nil: null },
  ),
  lastExitAt: date,
  limitedSince: date,
  limitReason: fc.option(fc.string(), { nil: null }),
  budget: fc.option(
    fc.record({ amount: fc.constant('5'), isOfEndpoint: fc.boolean(), isByAdmin: fc.boolean(), until: fc.string() }),
    { nil: null },
  ),
  webhookRefusal: fc.option(fc.string(), { nil: null }),
});

test('whatever is known, an endpoint has one state, and those that need a person say why', () => {
  fc.assert(
    fc.property(anyFacts, (given) => {
      const { state, reason } = endpointState(given, NOW);
      expect(ENDPOINT_STATES).toContain(state);
      if (['PAUSED', 'FAILING', 'ROLLING_OUT'].includes(state)) expect(reason).toBeTruthy();
      expect(endpointState(given, NOW)).toEqual(endpointState(given, NOW));
    }),
  );
});

test('an endpoint without a ready worker is never healthy, and one that may run with work is never scaled to zero', () => {
  fc.assert(
    fc.property(anyFacts, (given) => {
      const { state } = endpointState(given, NOW);
      if (given.workers.ready === 0) expect(state).not.toBe('HEALTHY');
      if (given.waiting + given.running > 0) expect(state).not.toBe('SCALED_TO_ZERO');
      if (given.losses && given.losses.failedStarts > 0) expect(['FAILING', 'PAUSED']).toContain(state);
      if (given.workersMax === 0) expect(state).toBe('PAUSED');
    }),
  );
});
