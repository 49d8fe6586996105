import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JobId } from '../core/ids.ts';
import type { EndedJob } from '../domain/jobs/job.ts';
import { JobWaiters } from './job-waiters.ts';

const JOB = 'job' as JobId;
const ended = { id: JOB, status: 'COMPLETED' } as EndedJob;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test('everybody who waits for a job hears of its end at once, nobody else does', async () => {
  const waiters = new JobWaiters();
  const [one, two, other] = [waiters.wait(JOB, 1000), waiters.wait(JOB, 2000), waiters.wait('other' as JobId, 500)];
  waiters.tell(JOB, ended);
  expect(await one.news).toBe(ended);
  expect(await two.news).toBe(ended);
  await vi.advanceTimersByTimeAsync(500);
  expect(await other.news).toBe('timeout');
});

test('news without the job means: look yourself', async () => {
  const waiters = new JobWaiters();
  const { news } = waiters.wait(JOB, 1000);
  waiters.tell(JOB, undefined);
  expect(await news).toBeUndefined();
});

test('a wait ends when its time is over', async () => {
  const waiters = new JobWaiters();
  const { news } = waiters.wait(JOB, 1000);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await news).toBe('timeout');
});

test('a cancelled wait ends, and later news or a second cancel change nothing', async () => {
  const waiters = new JobWaiters();
  const { news, cancel } = waiters.wait(JOB, 1000);
  cancel();
  waiters.tell(JOB, ended);
  cancel();
  expect(await news).toBe('timeout');
});

test('at the end of the process everybody is released to look once more', async () => {
  const waiters = new JobWaiters();
  const waits = [waiters.wait(JOB, 1000), waiters.wait('other' as JobId, 1000)];
  waiters.releaseAll();
  expect(await Promise.all(waits.map(({ news }) => news))).toEqual([undefined, undefined]);
});

test('who begins to wait while the process ends is released at once', async () => {
  const waiters = new JobWaiters();
  waiters.releaseAll();
  expect(await waiters.wait(JOB, 60_000).news).toBe(undefined);
});

test('a job that ends again after a retry is told to those who wait then', async () => {
  const waiters = new JobWaiters();
  waiters.tell(JOB, ended);
  const { news } = waiters.wait(JOB, 1000);
  waiters.tell(JOB, ended);
  expect(await news).toBe(ended);
});
