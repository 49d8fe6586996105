import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Cause } from '../../../scaling/because.ts';
import { decideWorker, type SeenContainer, type WorkerAction, type WorkerFacts } from './decide-worker.ts';

const NOW = 1_000_000;
const LIMITS = { graceMs: 30_000, drainMs: 60_000, jobStopMs: 5_000 };
const ago = (ms: number) => new Date(NOW - ms);

/** A ready worker that runs and holds nothing. */
const READY: WorkerFacts = {
  endpointType: 'QUEUE_BASED',
  wanted: 'RUN',
  wantedReason: 'a job waits',
  phase: 'RUNNING',
  phaseReason: null,
  notBefore: null,
  startedAt: ago(3_600_000),
  readyAt: ago(3_590_000),
  drainAt: null,
  unhealthyReason: null,
  leased: 0,
  stopping: 0,
  stoppingSince: null,
  spec: { env: {} },
};
const PENDING = { phase: 'PENDING', startedAt: null, readyAt: null } as const;
const STARTING = { phase: 'STARTING', startedAt: null, readyAt: null } as const;
const LOADING = { readyAt: null } as const;
const FROZEN = { phase: 'FROZEN', wanted: 'FREEZE', drainAt: ago(60_000) } as const;
const DRAINING = { wanted: 'DRAIN', wantedReason: 'idle for 60 s', drainAt: ago(1_000) } as const;
const STOPPING = { wanted: 'STOP', wantedReason: 'the endpoint is deleted' } as const;

const container = (state: 'created' | 'running' | 'frozen' | 'exited', exitCode: number | null = null) => ({
  state,
  exitCode,
  address: '10.0.0.7',
  reason: null,
});
const finalize = (cause: Cause | null, reason: string, isLost: boolean, code: number | null = null) => {
  return { do: 'finalize', code, cause, reason, isLost } as const;
};
const stop = (reason: string, graceMs: number) =>
  ({ do: 'stop', graceMs, cause: null, reason, isLost: false }) as const;
const nothing = { do: 'nothing' } as const;

/** Each row: a rule, what is known of the worker, its container, and the action. */
const TABLE: Record<string, [string, Partial<WorkerFacts>, SeenContainer, WorkerAction][]> = {
  'a PENDING worker': [
    ['starts when it is wanted', { ...PENDING }, 'unknown', { do: 'start' }],
    ['starts once its pause is over', { ...PENDING, notBefore: ago(0) }, 'unknown', { do: 'start' }],
    [
      'waits for the end of its pause',
      { ...PENDING, notBefore: ago(-5_000) },
      'unknown',
      { do: 'wait', untilMs: NOW + 5_000 },
    ],
    ['starts whatever the list says', { ...PENDING }, container('created'), { do: 'start' }],
    [
      'is finalized when it is to drain',
      { ...PENDING, ...DRAINING },
      'unknown',
      finalize(null, 'idle for 60 s', false),
    ],
    [
      'is finalized when it is to stop, also during its pause',
      { ...PENDING, ...STOPPING, notBefore: ago(-5_000) },
      'unknown',
      finalize(null, 'the endpoint is deleted', false),
    ],
  ],
  'a STARTING worker': [
    ['is left alone without a newer list', { ...STARTING }, 'unknown', nothing],
    ['is adopted when its container runs', { ...STARTING }, container('running'), { do: 'adopt', address: '10.0.0.7' }],
    [
      'is adopted when its container runs, even if it is to stop',
      { ...STARTING, ...STOPPING },
      container('running'),
      { do: 'adopt', address: '10.0.0.7' },
    ],
    [
      'is finalized, but not lost, when its start was interrupted before it had a container',
      { ...STARTING },
      'absent',
      finalize('START_INTERRUPTED', 'its start was interrupted', false),
    ],
    [
      'is finalized, but not lost, when its start was interrupted before its container started',
      { ...STARTING },
      container('created'),
      finalize('START_INTERRUPTED', 'its start was interrupted', false),
    ],
    [
      'is lost when its container has exited',
      { ...STARTING },
      container('exited', 0),
      finalize('EXITED', 'it exited with code 0', true, 0),
    ],
    [
      'stops when it is not wanted any more',
      { ...STARTING, ...STOPPING },
      'unknown',
      stop('the endpoint is deleted', 5_000),
    ],
    ['stops when it is to drain', { ...STARTING, ...DRAINING }, 'unknown', stop('idle for 60 s', 5_000)],
  ],
  'a RUNNING worker': [
    ['is left alone', {}, 'unknown', nothing],
    ['is left alone when its container runs', {}, container('running'), nothing],
    [
      'is replaced, and no failure of its endpoint, when its GPU is lost',
      {},
      { ...container('running'), loss: 'GPU-1 (NVIDIA L4) does not answer: GPU is lost' },
      {
        do: 'stop',
        graceMs: 5_000,
        cause: 'GPU_LOST',
        reason: 'its GPU is lost: GPU-1 (NVIDIA L4) does not answer: GPU is lost',
        isLost: false,
      },
    ],
    ['is lost when its container is gone', {}, 'absent', finalize('GONE', 'its container is gone', true)],
    [
      'is lost when it exited with an error',
      {},
      container('exited', 137),
      finalize('EXITED', 'it exited with code 137', true, 137),
    ],
    [
      'is lost with the reason that the runtime gives',
      {},
      { ...container('exited', 137), reason: 'it ran out of memory' },
      finalize('EXITED', 'it ran out of memory', true, 137),
    ],
    [
      'is not lost when it exited with 0 after it was ready',
      {},
      container('exited', 0),
      finalize('EXITED', 'it exited with code 0', false, 0),
    ],
    [
      'is lost when it exited with 0 before it was ready',
      { ...LOADING, startedAt: ago(1_000) },
      container('exited', 0),
      finalize('EXITED', 'it exited with code 0', true, 0),
    ],
    [
      'drains when it is unhealthy',
      { unhealthyReason: 'the GPU fell off the bus' },
      'unknown',
      { do: 'drain', cause: 'UNHEALTHY', reason: 'unhealthy: the GPU fell off the bus' },
    ],
    [
      'drains when it is unhealthy while it still loads',
      { ...LOADING, startedAt: ago(1_000), unhealthyReason: 'no model' },
      'unknown',
      { do: 'drain', cause: 'UNHEALTHY', reason: 'unhealthy: no model' },
    ],
    [
      'may load for seven minutes',
      { ...LOADING, startedAt: ago(419_000) },
      container('running'),
      { do: 'wait', untilMs: NOW + 1_000 },
    ],
    [
      'is stopped as lost when it was not ready in time',
      { ...LOADING, startedAt: ago(420_000) },
      'unknown',
      {
        do: 'stop',
        graceMs: 5_000,
        cause: 'NOT_READY',
        reason: 'it was not ready within 420 s of its start (RUNPOD_INIT_TIMEOUT)',
        isLost: true,
      },
    ],
    [
      'is stopped after its own RUNPOD_INIT_TIMEOUT, with what its health path said',
      {
        ...LOADING,
        startedAt: ago(2_000),
        phaseReason: 'GET /ping on port 80 is answered with 500',
        spec: { env: { RUNPOD_INIT_TIMEOUT: '2' } },
      },
      'unknown',
      {
        do: 'stop',
        graceMs: 5_000,
        cause: 'NOT_READY',
        reason:
          'it was not ready within 2 s of its start (RUNPOD_INIT_TIMEOUT): GET /ping on port 80 is answered with 500',
        isLost: true,
      },
    ],
    ...['0', '-1', 'soon', 'Infinity'].map((value): [string, Partial<WorkerFacts>, SeenContainer, WorkerAction] => [
      `ignores RUNPOD_INIT_TIMEOUT=${value}`,
      { ...LOADING, startedAt: ago(2_000), spec: { env: { RUNPOD_INIT_TIMEOUT: value } } },
      'unknown',
      { do: 'wait', untilMs: NOW + 418_000 },
    ]),
  ],
  'a draining worker': [
    ['stops once it holds nothing', { ...DRAINING }, 'unknown', stop('idle for 60 s', 5_000)],
    [
      'waits until jobs that were being dispatched have settled',
      { ...DRAINING, drainAt: ago(50) },
      'unknown',
      { do: 'wait', untilMs: NOW + 100 },
    ],
    ['finishes its jobs first', { ...DRAINING, drainAt: ago(86_400_000), leased: 2 }, 'unknown', nothing],
    [
      'finishes its requests first',
      { ...DRAINING, endpointType: 'LOAD_BALANCING', leased: 2 },
      'unknown',
      { do: 'wait', untilMs: NOW + 59_000 },
    ],
    [
      'stops with the requests it has once it has drained for too long',
      { ...DRAINING, endpointType: 'LOAD_BALANCING', leased: 2, drainAt: ago(60_000) },
      'unknown',
      stop('idle for 60 s', 30_000),
    ],
    [
      'stops without requests, whatever its endpoint',
      { ...DRAINING, endpointType: 'LOAD_BALANCING' },
      'unknown',
      stop('idle for 60 s', 5_000),
    ],
    ['is finalized when it has ended', { ...DRAINING }, 'absent', finalize('GONE', 'its container is gone', false)],
  ],
  'a stopping worker': [
    [
      'gets the grace time for its jobs',
      { ...STOPPING, leased: 1 },
      'unknown',
      stop('the endpoint is deleted', 30_000),
    ],
    ['gets a short grace without jobs', { ...STOPPING }, 'unknown', stop('the endpoint is deleted', 5_000)],
    [
      'gets no grace while it is frozen',
      { ...STOPPING, phase: 'FROZEN' },
      'unknown',
      stop('the endpoint is deleted', 0),
    ],
    [
      'is finalized, but not lost, when it has ended',
      { ...STOPPING },
      container('exited', 143),
      finalize('EXITED', 'it exited with code 143', false, 143),
    ],
  ],
  'a worker that is to be frozen': [
    ['is left to the freezer', { wanted: 'FREEZE', drainAt: ago(1_000) }, container('running'), nothing],
    ['is left alone while it is frozen', { ...FROZEN }, container('frozen'), nothing],
    ['is left alone while it is frozen, unhealthy or not', { ...FROZEN, unhealthyReason: 'x' }, 'unknown', nothing],
    ['is left to the freezer while it is to be thawed', { ...FROZEN, wanted: 'RUN' }, container('frozen'), nothing],
    [
      'is finalized when its container is gone',
      { ...FROZEN },
      'absent',
      finalize('GONE', 'its container is gone', false),
    ],
  ],
};

test.each([
  ['all of its time is over', { leased: 1, stopping: 1, stoppingSince: ago(5_000) }, 0],
  ['less than a second is left, which runtimes round up', { leased: 1, stopping: 1, stoppingSince: ago(4_100) }, 0],
  ['it was told a second ago', { leased: 2, stopping: 2, stoppingSince: ago(1_000) }, 4_000],
  ['it holds another job, too', { leased: 2, stopping: 1, stoppingSince: ago(60_000) }, 30_000],
])('a worker that stops with a job that it was told to stop: %s', (_, facts, graceMs) => {
  const action = decideWorker({ ...READY, ...STOPPING, ...facts }, container('running'), NOW, LIMITS);
  expect(action).toMatchObject({ do: 'stop', graceMs });
});

for (const [subject, rows] of Object.entries(TABLE)) {
  describe(subject, () => {
    test.each(rows)('%s', (_rule, facts, seen, action) => {
      expect(decideWorker({ ...READY, ...facts }, seen, NOW, LIMITS)).toEqual(action);
    });
  });
}

const time = fc.option(fc.integer({ min: NOW - 600_000, max: NOW + 600_000 }).map((at) => new Date(at)));
const facts: fc.Arbitrary<WorkerFacts> = fc.record({
  endpointType: fc.constantFrom('QUEUE_BASED', 'LOAD_BALANCING'),
  wanted: fc.constantFrom('RUN', 'FREEZE', 'DRAIN', 'STOP'),
  wantedReason: fc.constant('why'),
  phase: fc.constantFrom('PENDING', 'STARTING', 'RUNNING', 'FROZEN'),
  phaseReason: fc.constant(null),
  notBefore: time,
  startedAt: time,
  readyAt: time,
  drainAt: time,
  unhealthyReason: fc.option(fc.constant('ill')),
  leased: fc.integer({ min: 0, max: 2 }),
  stopping: fc.integer({ min: 0, max: 2 }),
  stoppingSince: time,
  spec: fc.constant({ env: {} }),
});
const seen: fc.Arbitrary<SeenContainer> = fc.oneof(
  fc.constantFrom('absent' as const, 'unknown' as const),
  fc.constantFrom('created', 'running', 'frozen', 'exited').map((state) => container(state)),
);

describe('whatever the facts', () => {
  test('a wait ends in the future, and with another action than to wait for the same time', () => {
    fc.assert(
      fc.property(facts, seen, (worker, container) => {
        const action = decideWorker(worker, container, NOW, LIMITS);
        if (action.do !== 'wait') return;
        expect(action.untilMs).toBeGreaterThan(NOW);
        const next = decideWorker(worker, container, action.untilMs, LIMITS);
        expect(['start', 'stop']).toContain(next.do);
      }),
    );
  });

  test('only a pending worker that is wanted starts, and only a worker that is wanted is lost', () => {
    fc.assert(
      fc.property(facts, seen, (worker, container) => {
        const action = decideWorker(worker, container, NOW, LIMITS);
        if (action.do === 'start') expect(worker).toMatchObject({ wanted: 'RUN', phase: 'PENDING' });
        if ('isLost' in action && action.isLost) expect(worker.wanted).toBe('RUN');
      }),
    );
  });

  test('a worker whose container runs is not finalized, and one that holds a job is not stopped while it drains', () => {
    fc.assert(
      fc.property(facts, (worker) => {
        const action = decideWorker(worker, container('running'), NOW, LIMITS);
        if (worker.phase !== 'PENDING') expect(action.do).not.toBe('finalize');
        const drains = worker.wanted === 'DRAIN' && worker.endpointType === 'QUEUE_BASED' && worker.leased > 0;
        if (drains) expect(action.do).not.toBe('stop');
      }),
    );
  });
});
