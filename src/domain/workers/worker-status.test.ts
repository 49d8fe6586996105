import { expect, test } from 'vitest';
import { summarizeWorkers, type WorkerCondition, workerStatus } from './worker-status.ts';

const READY: WorkerCondition = {
  phase: 'RUNNING',
  phaseReason: null,
  isReady: true,
  isBusy: false,
  isStoppingJob: false,
  isLost: false,
  unhealthyReason: null,
};

test.each<[string, Partial<WorkerCondition>, string]>([
  ['ready without work is IDLE', {}, 'IDLE'],
  ['ready with work is RUNNING', { isBusy: true }, 'RUNNING'],
  ['stopping a job is RUNNING', { isBusy: true, isStoppingJob: true }, 'RUNNING'],
  ['running but not ready is INITIALIZING', { isReady: false }, 'INITIALIZING'],
  ['starting is INITIALIZING', { phase: 'STARTING', isReady: false }, 'INITIALIZING'],
  ['pending without a reason is INITIALIZING', { phase: 'PENDING', isReady: false }, 'INITIALIZING'],
  [
    'pending without capacity is THROTTLED',
    { phase: 'PENDING', isReady: false, phaseReason: 'no capacity: ADA_24 has 0 of 4 GPUs free' },
    'THROTTLED',
  ],
  [
    'starting without capacity is THROTTLED',
    { phase: 'STARTING', isReady: false, phaseReason: 'no capacity: no node has room' },
    'THROTTLED',
  ],
  ['a reason of capacity counts only until it runs', { phaseReason: 'no capacity: once' }, 'IDLE'],
  [
    'pending after it ended by itself is UNHEALTHY',
    { phase: 'PENDING', isReady: false, isLost: true, phaseReason: 'ended 3 times before it was ready' },
    'UNHEALTHY',
  ],
  ['ill is UNHEALTHY, even with work', { isBusy: true, unhealthyReason: 'disk' }, 'UNHEALTHY'],
  [
    'ill is UNHEALTHY, even without capacity',
    { phase: 'PENDING', phaseReason: 'no capacity', isLost: true },
    'UNHEALTHY',
  ],
])('a worker that is %s', (_, change, status) => {
  expect(workerStatus({ ...READY, ...change })).toBe(status);
});

test('a summary counts every status once', () => {
  expect(summarizeWorkers(['RUNNING', 'IDLE', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'])).toEqual({
    running: 1,
    idle: 2,
    initializing: 1,
    throttled: 1,
    unhealthy: 1,
    total: 6,
  });
});
