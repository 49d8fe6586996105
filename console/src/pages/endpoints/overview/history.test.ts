import { expect, test } from 'vitest';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { addPoint, type HistoryPoint, MAX_POINTS } from './history.ts';

function snapshot(finished: number, times: EndpointSnapshot['times'] = null): EndpointSnapshot {
  return {
    state: { state: 'HEALTHY', since: null, reason: null, warnings: [] },
    jobs: { completed: finished, failed: 0, inProgress: 2, inQueue: 3, retried: 0 },
    queueLimit: null,
    requests: { held: 10, inFlight: 20 },
    workers: [],
    summary: { total: 6, running: 1, idle: 2, initializing: 3, throttled: 0, unhealthy: 0 },
    endpointVersion: 1,
    rollout: {} as EndpointSnapshot['rollout'],
    times,
  };
}
const TIMES = { waitMs: { p50: 1, p95: 5 }, executionMs: { p50: 2, p95: 9 } };

test('a point adds jobs and requests, and counts workers by status', () => {
  expect(addPoint([], snapshot(7), 1_000)).toEqual([
    {
      at: 1_000,
      queued: 13,
      running: 22,
      finished: 7,
      workersRunning: 1,
      workersIdle: 2,
      workersInitializing: 3,
      workersThrottled: 0,
      workersUnhealthy: 0,
    },
  ]);
});

test('latency appears only where jobs finished since the last point', () => {
  let history: readonly HistoryPoint[] = [];
  for (const finished of [7, 7, 8, 8]) history = addPoint(history, snapshot(finished, TIMES), 0);
  expect(history.map(({ queueTime, executionTime }) => [queueTime, executionTime])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    [5, 9],
    [undefined, undefined],
  ]);
});

test('a full history drops its oldest point', () => {
  let history: readonly HistoryPoint[] = [];
  for (let second = 0; second <= MAX_POINTS; second++) history = addPoint(history, snapshot(0), second);
  expect(history).toHaveLength(MAX_POINTS);
  expect([history[0]!.at, history.at(-1)!.at]).toEqual([1, MAX_POINTS]);
});
