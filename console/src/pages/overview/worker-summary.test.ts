import { expect, test } from 'vitest';
import { describeWorkers } from './worker-summary.ts';

const HEALTHY = { total: 3, running: 1, idle: 2, initializing: 0, throttled: 0, unhealthy: 0 };

test('healthy workers are a plain number', () => {
  expect(describeWorkers(HEALTHY)).toBe('3');
});

test('throttled and unhealthy workers are counted separately', () => {
  expect(describeWorkers({ ...HEALTHY, throttled: 1 })).toBe('3 (1 throttled)');
  expect(describeWorkers({ ...HEALTHY, throttled: 1, unhealthy: 2 })).toBe('3 (1 throttled, 2 unhealthy)');
});
