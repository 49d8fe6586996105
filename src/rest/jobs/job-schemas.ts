import { Type } from 'typebox';
import { JOB_STATUSES } from '../../domain/jobs/job.ts';
import { MAX_PAGE } from '../../domain/jobs/list-jobs.ts';
import { commaList, dateTime, nullableInteger, nullableString, stringEnum } from '../shared/schema.ts';

const nullableTime = (description: string) => nullableString({ format: 'date-time', description });

const JobResponse = Type.Object({
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
  error: nullableString({ description: 'The first 500 characters.' }),
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
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 50, description: 'Maximum number of jobs.' }),
  ),
  cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before, with the same filters.' })),
});
