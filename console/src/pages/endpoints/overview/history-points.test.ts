import { expect, test } from 'vitest';
import { chartPoints } from './history-points.ts';

const point = {
  at: '2026-11-20T10:01:00.000Z',
  queued: 0,
  inProgress: 0,
  jobs: { completed: 3, failed: 1, cancelled: 0, timedOut: 0, retried: 0 },
  waitMs: { p50: 1, p95: 2, p99: 3 },
  executionMs: null,
  requests: { '1xx': 1, '2xx': 2, '3xx': 0, '4xx': 0, '5xx': 0 },
  latencyMs: null,
  coldStarts: 1,
  workersEnded: 2,
  workersLost: 1,
  coldStartMs: null,
  workers: { running: 1, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, frozen: 0 },
  gpuSeconds: 60,
  cost: 0.01,
};

test('every step has a point; one that the server left out is zero, and times without jobs are absent', () => {
  const points = chartPoints({
    range: '1h',
    from: '2026-11-20T10:00:00.000Z',
    until: '2026-11-20T10:03:00.000Z',
    stepSeconds: 60,
    points: [point],
  });
  expect(points.map(({ completed }) => completed)).toEqual([0, 3, 0]);
  expect(points[1]).toMatchObject({
    at: Date.parse(point.at),
    failed: 1,
    success: 3,
    waitP95: 2,
    workersRunning: 1,
    workersEnded: 1,
    workersLost: 1,
  });
  expect(points[1]).not.toHaveProperty('runP50');
  expect(points[0]).not.toHaveProperty('waitP50');
});
