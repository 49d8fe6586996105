import { expect, test } from 'vitest';
import { describeWorkers, queuedOf, runningOf } from './live-snapshots.ts';

const SNAPSHOT = {
  jobs: { completed: 0, failed: 0, inProgress: 1, inQueue: 2, retried: 0 },
  requests: { held: 10, inFlight: 20 },
};

test('jobs and requests are added up', () => {
  expect([queuedOf(SNAPSHOT), runningOf(SNAPSHOT)]).toEqual([12, 21]);
});

test('nothing is known before the first snapshot', () => {
  expect([queuedOf(undefined), runningOf(undefined)]).toEqual([undefined, undefined]);
});

const HEALTHY = { total: 3, running: 1, idle: 2, initializing: 0, throttled: 0, unhealthy: 0 };

test('healthy workers are a plain number', () => {
  expect(describeWorkers(HEALTHY)).toBe('3');
});

test('throttled and unhealthy workers are counted separately', () => {
  expect(describeWorkers({ ...HEALTHY, throttled: 1 })).toBe('3 (1 throttled)');
  expect(describeWorkers({ ...HEALTHY, throttled: 1, unhealthy: 2 })).toBe('3 (1 throttled, 2 unhealthy)');
});
