import { expect, test } from 'vitest';
import { describeAhead, type JobDetail, jobFilter, pollMs, stepsOf } from './job-steps.ts';

const T = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString();
const stage = (name: JobDetail['attempts'][number]['stages'][number]['stage'], from: number, to: number | null) => ({
  ...{ stage: name, from: T(from), to: to === null ? null : T(to), ms: ((to ?? 60) - from) * 1000, reason: null },
});
const job = (change: Partial<JobDetail>): JobDetail =>
  ({
    status: 'IN_QUEUE',
    createdAt: T(0),
    finishedAt: null,
    sync: false,
    attempts: [],
    webhook: null,
    ...change,
  }) as JobDetail;
const labels = (change: Partial<JobDetail>) => stepsOf(job(change)).map(({ label }) => label);

test('a waiting job ends with what it waits for', () => {
  const steps = stepsOf(
    job({ attempts: [{ attempt: 1, workerId: null, stages: [stage('worker', 0, 2), stage('pull', 2, null)] }] }),
  );
  expect(steps.map(({ label, isOpen }) => [label, isOpen])).toEqual([
    ['Submitted', false],
    ['Waited for a worker to be started', false],
    ['A worker pulls its image', true],
  ]);
});

test('a lost worker, a run and the end follow each other', () => {
  const attempts = [
    { attempt: 1, workerId: 'w1', stages: [stage('running', 0, 5)] },
    { attempt: 2, workerId: 'w2', stages: [stage('queue', 5, 6), stage('running', 6, 9)] },
  ];
  const change = { status: 'COMPLETED', finishedAt: T(9), outputBytes: 3, attempts } as Partial<JobDetail>;
  expect(labels(change)).toEqual([
    ...['Submitted', 'Ran', 'The worker was lost; queued again', 'Waited behind other jobs', 'Ran'],
    'Completed, result stored',
  ]);
  expect(stepsOf(job(change)).map(({ workerId }) => workerId)).toEqual([null, 'w1', null, null, 'w2', null]);
});

test('the webhook has a line for each try, and one for what is to come', () => {
  const url = 'https://example.com/hook';
  const refused = { at: T(1), status: 503, error: 'it was answered with status 503' };
  const webhook = (change: object) =>
    ({ webhook: { url, tries: [], nextTryAt: null, ...change } }) as unknown as Partial<JobDetail>;
  expect(labels(webhook({ state: 'WAITING' }))).toContain('Webhook follows at the end');
  expect(labels(webhook({ state: 'PENDING', tries: [refused], nextTryAt: T(9) })).slice(1)).toEqual([
    ...['Webhook failed', 'Webhook is delivered'],
  ]);
  const delivered = { at: T(9), status: 200, error: null };
  expect(labels(webhook({ state: 'DELIVERED', tries: [refused, delivered] })).slice(1)).toEqual([
    ...['Webhook failed', 'Webhook accepted (200)'],
  ]);
  expect(labels(webhook({ state: 'FAILED', tries: [refused, refused, refused] })).at(-1)).toBe(
    'Webhook given up after 3 tries',
  );
});

test('a job is read again until it has ended and its webhook is delivered', () => {
  expect(pollMs(job({}))).toBe(1_000);
  expect(pollMs(job({ status: 'FAILED' }))).toBe(false);
  expect(pollMs(job({ status: 'FAILED', webhook: { state: 'PENDING' } as JobDetail['webhook'] }))).toBe(3_000);
  expect(pollMs(undefined)).toBe(false);
});

test('the place in the queue is a sentence', () => {
  expect([0, 1, 12, 10_000].map(describeAhead)).toEqual([
    ...['It is next in the queue.', '1 job comes first.', '12 jobs come first.', 'More than 10,000 jobs come first.'],
  ]);
});

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
