import { expect, test } from 'vitest';
import { jobFilter } from './job-log.ts';

test("a job's lines are those of its worker while it ran, and a second around that", () => {
  const job = { workerId: 'w1', startedAt: '2026-11-20T10:00:00.500Z', finishedAt: '2026-11-20T10:00:02Z' };
  expect(jobFilter(job)).toEqual({
    workerId: 'w1',
    range: null,
    since: '2026-11-20T09:59:59.500Z',
    until: '2026-11-20T10:00:03.000Z',
  });
  expect(jobFilter({ ...job, finishedAt: null })).toMatchObject({ until: null });
});
