import { type EndField, JOB_ENDS, JOB_STATES } from '../../core/job-states.ts';
import { RANGES, STEPS } from '../../domain/history/read-history.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { dateTime, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const number = (description: string) => Type.Number({ minimum: 0, description });
const count = (description: string) => Type.Integer({ minimum: 0, description });
const percentiles = (description: string) =>
  Type.Unsafe<{ p50: number; p95: number; p99: number } | null>({
    type: ['object', 'null'],
    required: ['p50', 'p95', 'p99'],
    properties: { p50: { type: 'number' }, p95: { type: 'number' }, p99: { type: 'number' } },
    description: `${description} Milliseconds, within a tenth; null without any.`,
  });

const HistoryPointResponse = Type.Object({
  at: dateTime({ description: 'The beginning of the step.' }),
  queued: number('Jobs that waited, or requests that were held, on average.'),
  inProgress: number('Jobs that ran, or requests in flight, on average.'),
  jobs: Type.Object({
    ...(Object.fromEntries(
      JOB_ENDS.map((status) => [JOB_STATES[status].end.field, count('Jobs that ended so.')]),
    ) as Record<EndField, ReturnType<typeof count>>),
    retried: count('Further attempts.'),
  }),
  waitMs: percentiles('Time in the queue of jobs that ended.'),
  executionMs: percentiles('Run of jobs that ended.'),
  requests: Type.Object(
    Object.fromEntries(
      ['1xx', '2xx', '3xx', '4xx', '5xx'].map((name) => [name, count('Requests with such a status.')]),
    ) as Record<'1xx' | '2xx' | '3xx' | '4xx' | '5xx', ReturnType<typeof count>>,
    { description: 'Load-balanced requests that ended.' },
  ),
  latencyMs: percentiles('Jobs that ran and load-balanced requests, from their arrival to their end.'),
  coldStarts: count('Workers that became ready.'),
  workersEnded: count('Workers that ended, for whatever reason.'),
  workersLost: count('Of them: those that ended unexpectedly, or could not be started.'),
  coldStartMs: percentiles('Time from the decision to start a worker until it was ready.'),
  workers: Type.Object(
    {
      running: number('Busy.'),
      idle: number('Ready, without work.'),
      initializing: number('Starting or loading.'),
      throttled: number('Waiting for capacity.'),
      unhealthy: number('Failed, or reported unhealthy.'),
      frozen: number('Frozen by FlashBoot.'),
    },
    { description: 'On average.' },
  ),
  gpuSeconds: number('GPUs times seconds that were held.'),
  cost: number('USD, at the prices of billing.'),
});

export const HistoryResponse = Type.Object(
  {
    range: stringEnum(Object.keys(RANGES) as (keyof typeof RANGES)[]),
    from: dateTime(),
    until: dateTime({ description: 'The last full minute before now.' }),
    stepSeconds: Type.Integer(),
    points: Type.Array(HistoryPointResponse, { description: 'Oldest first. Steps without a point are all zeros.' }),
  },
  { $id: 'History', description: 'Podyard only: the past, for charts.' },
);

export const HistoryQuery = Type.Object({
  range: Type.Optional(
    stringEnum(Object.keys(RANGES) as (keyof typeof RANGES)[], { default: '1h', description: 'How far back.' }),
  ),
  step: Type.Optional(
    Type.Unsafe<(typeof STEPS)[number]>({
      type: 'integer',
      enum: [...STEPS],
      description: 'Seconds per point. Default: 60 up to 24h, otherwise 3600, which is then the only one.',
    }),
  ),
});

export const InstallationHistoryQuery = Type.Object({
  ...HistoryQuery.properties,
  pool: Type.Optional(Type.String({ description: 'Of this GPU pool: workers, cold starts, GPU seconds and cost.' })),
});

export const HISTORY_SCHEMAS: NamedSchemas = [
  [
    HistoryResponse,
    {
      range: '1h',
      from: '2026-11-20T09:30:00.000Z',
      until: '2026-11-20T10:30:00.000Z',
      stepSeconds: 60,
      points: [
        {
          at: '2026-11-20T10:02:00.000Z',
          queued: 3,
          inProgress: 2,
          jobs: { completed: 41, failed: 1, cancelled: 0, timedOut: 0, retried: 0 },
          waitMs: { p50: 12.5, p95: 850.2, p99: 2310.9 },
          executionMs: { p50: 1204.4, p95: 1890.1, p99: 2411.7 },
          requests: { '1xx': 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 },
          latencyMs: null,
          coldStarts: 1,
          workersEnded: 2,
          workersLost: 1,
          coldStartMs: { p50: 2295, p95: 2295, p99: 2295 },
          workers: { running: 2, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, frozen: 0 },
          gpuSeconds: 109.5,
          cost: 0.0207,
        },
      ],
    },
  ],
];
