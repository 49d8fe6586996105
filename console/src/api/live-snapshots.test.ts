import { expect, test } from 'vitest';
import { queuedOf, runningOf } from './live-snapshots.ts';

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
