import { expect, test } from 'vitest';
import type { EndpointId } from '../../core/ids.ts';
import { Metrics } from '../../core/metrics.ts';
import { RecentTimings } from './recent-timings.ts';

const ID = 'e' as EndpointId;

test('each read covers the jobs that ended since the last one; null if none', () => {
  const metrics = new Metrics({ maxEndpoints: 1 });
  metrics.jobEnded(ID, 'COMPLETED', 60_000, 60_000); // before the first read
  const timings = new RecentTimings(() => metrics.jobsOf(ID));
  expect(timings.read()).toBeNull();
  for (let i = 0; i < 99; i++) metrics.jobEnded(ID, 'COMPLETED', 4, 90);
  metrics.jobEnded(ID, 'FAILED', 2_000, 9_000);
  expect(timings.read()).toEqual({ waitMs: { p50: 5, p95: 5 }, executionMs: { p50: 100, p95: 100 } });
  expect(timings.read()).toBeNull();
  metrics.jobEnded(ID, 'COMPLETED', 9_000_000, 1);
  expect(timings.read()).toEqual({ waitMs: { p50: 3_600_000, p95: 3_600_000 }, executionMs: { p50: 1, p95: 1 } });
});
