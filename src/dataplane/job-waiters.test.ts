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

test('every waiter of a job gets its end at once, and no other waiter does', async () => {
  const waiters = new JobWaiters();
  const [one, two, other] = [waiters.wait(JOB, 1000), waiters.wait(JOB, 2000), waiters.wait('other' as JobId, 500)];
  waiters.notify(JOB, ended);
  expect(await one.update).toBe(ended);
  expect(await two.update).toBe(ended);
  await vi.advanceTimersByTimeAsync(500);
  expect(await other.update).toBe('timeout');
});

test('it is known when nothing is held any more', async () => {
  const waiters = new JobWaiters();
  await waiters.whenEmpty();
  const [one, two] = [waiters.wait(JOB, 1000), waiters.wait('other' as JobId, 500)];
  let isEmpty = false;
  const empty = waiters.whenEmpty().then(() => {
    isEmpty = true;
  });
  waiters.notify(JOB, ended);
  await one.update;
  expect(isEmpty).toBe(false);
  await vi.advanceTimersByTimeAsync(500);
  await two.update;
  await empty;
});

test('an update without the job makes the waiter read it', async () => {
  const waiters = new JobWaiters();
  const { update } = waiters.wait(JOB, 1000);
  waiters.notify(JOB, undefined);
  expect(await update).toBeUndefined();
});

test('a wait ends with its timeout', async () => {
  const waiters = new JobWaiters();
  const { update } = waiters.wait(JOB, 1000);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await update).toBe('timeout');
});

test('a cancelled wait ends, and later updates or a second cancel change nothing', async () => {
  const waiters = new JobWaiters();
  const { update, cancel } = waiters.wait(JOB, 1000);
  cancel();
  waiters.notify(JOB, ended);
  cancel();
  expect(await update).toBe('timeout');
});

test('releaseAll makes every waiter read its job once more', async () => {
  const waiters = new JobWaiters();
  const waits = [waiters.wait(JOB, 1000), waiters.wait('other' as JobId, 1000)];
  waiters.releaseAll();
  expect(await Promise.all(waits.map(({ update }) => update))).toEqual([undefined, undefined]);
});

test('a wait that begins after releaseAll ends at once', async () => {
  const waiters = new JobWaiters();
  waiters.releaseAll();
  expect(await waiters.wait(JOB, 60_000).update).toBe(undefined);
});

test('a job that ends again after a retry notifies its waiters at that time', async () => {
  const waiters = new JobWaiters();
  waiters.notify(JOB, ended);
  const { update } = waiters.wait(JOB, 1000);
  waiters.notify(JOB, ended);
  expect(await update).toBe(ended);
});
