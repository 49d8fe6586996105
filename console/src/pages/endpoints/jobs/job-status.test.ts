import { expect, test } from 'vitest';
import { canRetry, isFinal, JOB_STATUSES } from './job-status.ts';

test('only failed and timed-out jobs are retried', () => {
  const states = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'];
  expect(states.filter((status) => canRetry({ status }))).toEqual(['FAILED', 'TIMED_OUT']);
});

test('a state that only a newer server has is not final, and is not retried', () => {
  expect([isFinal, canRetry].map((ask) => ask({ status: 'EXPIRED' }))).toEqual([false, false]);
  expect(Object.keys(JOB_STATUSES).filter((status) => isFinal({ status }))).toEqual([
    ...['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'],
  ]);
});
