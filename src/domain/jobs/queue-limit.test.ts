import { expect, test } from 'vitest';
import { queueLimit } from './queue-limit.ts';

test('a queue takes 500 jobs for each worker that its endpoint may have', () => {
  expect(queueLimit(3, null)).toEqual({ jobs: 1_500, reason: 'workers.max 3: 500 for each worker' });
  expect(queueLimit(3, 1_000).jobs).toBe(1_500);
});

test('a paused endpoint takes 50, and its reason says how to raise that', () => {
  const { jobs, reason } = queueLimit(0, 1_000);
  expect(jobs).toBe(50);
  expect(reason).toBe(
    'workers.max 0, which pauses the endpoint: raise it to run the jobs, and to queue 500 for each worker',
  );
});

test("the user's limit of workers counts where it is lower", () => {
  expect(queueLimit(10, 2)).toEqual({
    jobs: 1_000,
    reason: "the user's limit 'workers' of 2, which is less than workers.max 10",
  });
  expect(queueLimit(10, 0).jobs).toBe(50);
});
