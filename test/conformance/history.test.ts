/** Reports of processes for the history. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addPacked, type Buckets, percentile } from '../../src/core/log-histogram.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
});
afterAll(() => plane.close());

function countOf(packed: string[] | null): number {
  const buckets: Buckets = new Map();
  addPacked(buckets, packed);
  expect(percentile(buckets, 0.5)).toBeGreaterThan(0);
  return [...buckets.values()].reduce((sum, count) => sum + count, 0);
}

/** docs/interface/rest.md, "History" */
test('a server that stops reports the times of its jobs and its load-balanced requests, each once', async () => {
  const id = await plane.endpoint(1);
  const worker = await plane.worker(id);
  for (let n = 0; n < 3; n++) {
    await plane.run(id);
    await worker.work('{"output":1}');
  }
  const balanced = await plane.endpoint(0, { type: 'LOAD_BALANCING', workers: { min: 0, max: 0 } });
  expect((await plane.call('GET', `${balanced}/lb/`)).status).toBe(503);
  await plane.restart();
  const reports = await plane.sql(
    `select endpoint_id, waits, executions, latencies, requests_5xx from history_reports
     union all select subject, waits, executions, latencies, requests_5xx from history where kind = 'ENDPOINT'`,
  );
  const of = (endpointId: string) => reports.filter((row) => row.endpoint_id === endpointId);
  const jobs = of(id).filter(({ waits }) => waits !== null);
  expect(jobs.reduce((sum, { waits }) => sum + countOf(waits), 0)).toBe(3);
  expect(jobs.reduce((sum, { executions }) => sum + countOf(executions), 0)).toBe(3);
  expect(of(balanced).reduce((sum, row) => sum + Number(row.requests_5xx), 0)).toBe(1);
});
