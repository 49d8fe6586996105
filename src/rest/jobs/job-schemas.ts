import { JOB_STATUSES } from '../../core/job-states.ts';
import { WAIT_REASONS, WAIT_STAGES } from '../../domain/jobs/explain-job.ts';
import { WEBHOOK_STATES } from '../../domain/jobs/find-webhook.ts';
import { MAX_AHEAD, MAX_CHUNKS } from '../../domain/jobs/get-job.ts';
import { MAX_PAGE, MAX_SEARCHED } from '../../domain/jobs/list-jobs.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { commaList, dateTime, nullableInteger, nullableString, pageLimit, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const nullableTime = (description: string) => nullableString({ format: 'date-time', description });

const listed = {
  id: Type.String(),
  status: stringEnum(JOB_STATUSES),
  lowPriority: Type.Boolean(),
  workerId: nullableString({ description: 'The worker that has, or last had, the job.' }),
  createdAt: dateTime({ description: 'Of a retried job, the time of the retry.' }),
  startedAt: nullableTime('Null until a worker takes it.'),
  finishedAt: nullableTime('Null until it ends.'),
  delayTime: Type.Integer({ description: 'Milliseconds in the queue, so far if it is still queued.' }),
  executionTime: nullableInteger({ description: 'Milliseconds of its run, so far if it is still running.' }),
  retries: Type.Integer(),
  keptUntil: nullableTime('When the job and its result are deleted. Null until it ends.'),
};

const JobResponse = Type.Object({
  ...listed,
  error: nullableString({ description: 'The first 500 characters.' }),
});

const nullableBytes = (description: string) => nullableInteger({ minimum: 0, description });

const Attempt = Type.Object({
  attempt: Type.Integer({ minimum: 1 }),
  workerId: nullableString({ description: 'The worker that took it; null while it waits.' }),
  stages: Type.Array(
    Type.Object({
      stage: stringEnum(WAIT_STAGES, {
        description:
          'What it waited for: other jobs (queue), a worker to be started (worker) or thawed (thaw), or a stage of its start; then its run (running).',
      }),
      from: dateTime(),
      to: nullableTime('Null while it lasts.'),
      ms: Type.Integer({ description: 'Milliseconds, so far if it lasts.' }),
      reason: nullableString(),
    }),
    { description: 'In order, without gaps.' },
  ),
});

const JobWait = Type.Object({
  reason: stringEnum(WAIT_REASONS, {
    description: 'A state of the endpoint; LOW_PRIORITY: such jobs start no worker; BUSY: the workers have other jobs.',
  }),
  text: Type.String({ description: 'The same in words; of a failure with the last lines of output.' }),
  ahead: Type.Integer({ minimum: 0, description: `Queued jobs that come first; ${MAX_AHEAD} stands for more.` }),
});

const JobWebhook = Type.Object({
  url: Type.String({ description: 'Without user, query and fragment, which may hold secrets.' }),
  state: stringEnum(WEBHOOK_STATES, {
    description:
      'WAITING: the job has not ended. PENDING: it is being delivered or will be tried again. DELIVERED, FAILED: final. UNKNOWN: delivered by a version that kept no account.',
  }),
  tries: Type.Array(
    Type.Object({
      at: dateTime(),
      status: nullableInteger({ description: 'The receiver’s; null if it gave none.' }),
      error: nullableString({ description: 'Why it failed; null if it did not.' }),
    }),
  ),
  nextTryAt: nullableTime('Null if there is none.'),
});

export const JobDetailResponse = Type.Object(
  {
    ...listed,
    error: nullableString({ description: 'The first 65,536 characters; `…/error` has all of it.' }),
    errorBytes: nullableBytes('Null: none.'),
    sync: Type.Boolean({ description: 'True if it was submitted by runsync.' }),
    batchId: nullableString(),
    executionTimeout: nullableInteger({ description: 'Its own, in milliseconds. Null: the endpoint’s.' }),
    expiresAt: nullableTime('When it ends as TIMED_OUT if no worker has taken it. Null once one has.'),
    input: Type.Optional(Type.Unknown({ description: 'Absent if larger than 64 KiB: `…/input` has it.' })),
    inputBytes: Type.Integer({ minimum: 0 }),
    output: Type.Optional(
      Type.Unknown({
        description:
          'While it runs, the last progress update. Absent if there is none, or if larger than 64 KiB: `…/output` has it.',
      }),
    ),
    outputBytes: nullableBytes('Null: none.'),
    chunks: Type.Integer({
      minimum: 0,
      description: `Streamed chunks that are stored; ${MAX_CHUNKS} stands for more.`,
    }),
    wait: Type.Union([JobWait, Type.Null()], { description: 'Why it waits. Null unless it is queued.' }),
    attempts: Type.Array(Attempt, { description: 'What it waited for and how it ran, attempt by attempt.' }),
    webhook: Type.Union([JobWebhook, Type.Null()], { description: 'Null: it has none.' }),
  },
  { $id: 'JobDetail', description: 'Podyard only: a job with its payloads and its timeline.' },
);

export const JobParams = Type.Object({
  id: Type.String({ description: 'Endpoint identifier.' }),
  jobId: Type.String({ description: 'Job identifier.' }),
});

export const JobList = Type.Object(
  {
    requests: Type.Array(JobResponse, { description: 'Newest first, without payloads.' }),
    nextCursor: nullableString({ description: 'The `cursor` of the next page; null at the end.' }),
  },
  { $id: 'JobList', description: 'Podyard only: a page of an endpoint’s jobs.' },
);

export const JobListQuery = Type.Object({
  status: Type.Optional(commaList(JOB_STATUSES, 'In any of these states, separated by commas. Default: all.')),
  since: Type.Optional(dateTime({ description: 'Created at or after this time.' })),
  until: Type.Optional(dateTime({ description: 'Created before this time.' })),
  workerId: Type.Optional(Type.String({ description: 'Taken by this worker.' })),
  error: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: `Failed with an error that contains this text, A to Z in any case, in its first 10,000 characters. A page looks at ${MAX_SEARCHED} failed jobs, so it may be short, even empty, and have a next one.`,
    }),
  ),
  limit: pageLimit('jobs', { max: MAX_PAGE, default: 50 }),
  cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before, with the same filters.' })),
});

const job = {
  id: '019aa0f3-9a4e-7c11-9d2b-5f0c7a61e3b4-u1',
  status: 'FAILED',
  lowPriority: false,
  workerId: 'w9h3s6d1f8g2jk',
  createdAt: '2026-11-20T10:02:09.120331Z',
  startedAt: '2026-11-20T10:02:11.430118Z',
  finishedAt: '2026-11-20T10:02:12.001873Z',
  delayTime: 2310,
  executionTime: 572,
  retries: 0,
  keptUntil: '2026-11-20T10:32:12.001873Z',
  error: 'the audio file is empty',
};

export const JOB_SCHEMAS: NamedSchemas = [
  [
    JobList,
    {
      requests: [job],
      nextCursor: null,
    },
  ],
  [
    JobDetailResponse,
    {
      ...job,
      errorBytes: 23,
      sync: false,
      batchId: null,
      executionTimeout: null,
      expiresAt: null,
      inputBytes: 40,
      outputBytes: null,
      chunks: 0,
      wait: null,
      attempts: [
        {
          attempt: 1,
          workerId: 'w9h3s6d1f8g2jk',
          stages: [
            {
              stage: 'queue',
              from: '2026-11-20T10:02:09.120Z',
              to: '2026-11-20T10:02:11.430Z',
              ms: 2310,
              reason: null,
            },
            {
              stage: 'running',
              from: '2026-11-20T10:02:11.430Z',
              to: '2026-11-20T10:02:12.001Z',
              ms: 571,
              reason: null,
            },
          ],
        },
      ],
      webhook: {
        url: 'https://example.com/hooks/podyard',
        state: 'DELIVERED',
        tries: [{ at: '2026-11-20T10:02:12.240871+00:00', status: 200, error: null }],
        nextTryAt: null,
      },
      input: { audio: 'https://example.com/talk.mp3' },
    },
  ],
];
