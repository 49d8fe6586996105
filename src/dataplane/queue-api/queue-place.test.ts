import { expect, test } from 'vitest';
import { effectiveLimits } from '../../domain/quotas/limits.ts';
import { userFull } from './queue-place.ts';

const none = { jobs: 0, bytes: 0 };
const limits = effectiveLimits({ queuedJobs: 30, queuedBytes: 1_000 }, {});

test('jobs that were stored during a count and counted twice are not named in a refusal', () => {
  const queue = {
    counted: { jobs: 22, bytes: 220 },
    queued: { jobs: 44, bytes: 440 },
    submitting: none,
    submitted: none,
  };
  expect(userFull({ limits, queue }, 10)!().message).toBe(
    "the limit 'queuedJobs' allows 30 queued jobs; 30 are in use, and this needs 1 more",
  );
});

test('a queue that is longer than a limit, which was lowered, is named as it is', () => {
  const queue = {
    counted: { jobs: 50, bytes: 500 },
    queued: { jobs: 50, bytes: 500 },
    submitting: none,
    submitted: none,
  };
  expect(userFull({ limits, queue }, 10)!().message).toContain('; 50 are in use');
});

test('bytes alike: less than the limit as estimated, more only if counted', () => {
  const jobs = 1;
  const queued = (bytes: number, counted: number) => ({
    ...{ counted: { jobs, bytes: counted }, queued: { jobs, bytes }, submitting: none, submitted: none },
  });
  expect(userFull({ limits, queue: queued(995, 500) }, 10)!().message).toContain('; 995 are in use');
  expect(userFull({ limits, queue: queued(1_500, 700) }, 10)!().message).toContain('; 1000 are in use');
  expect(userFull({ limits, queue: queued(1_500, 1_200) }, 10)!().message).toContain('; 1200 are in use');
  expect(userFull({ limits, queue: queued(900, 900) }, 10)).toBeUndefined();
});
