import { LOG_LEVELS } from '../../domain/logs/log-level.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { dateTime, nullableString, pageLimit, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_SEARCH = 200;

/** Our own filters: every read of a log takes them. */
const filters = {
  level: Type.Optional(
    stringEnum(LOG_LEVELS, {
      description:
        'Podyard only. Lines of this level or a more severe one. Levels are recognized in the text; lines without one are left out.',
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: MAX_SEARCH,
      description: 'Podyard only. Lines that contain this text, in any case.',
    }),
  ),
};

const source = Type.Optional(
  stringEnum(['container', 'system'], { description: 'Lines of this source only. Absent: both.' }),
);
const workerId = Type.Optional(Type.String({ description: 'Lines of this worker only. Absent: of all workers.' }));

const stream = {
  source,
  tail: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 5000,
      default: 100,
      description: 'Number of stored lines to start with, from the end.',
    }),
  ),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Start at this time; `tail` is ignored.' })),
  ...filters,
};

export const LogQuery = Type.Object({
  ...stream,
  include: Type.Optional(
    Type.String({ description: 'Podyard only. `LEVEL`: events have the `level` of their line, or null.' }),
  ),
});
export const EndpointLogQuery = Type.Object({ ...stream, workerId });

const range = {
  source,
  ...filters,
  since: Type.Optional(dateTime({ description: 'Written at or after this time.' })),
  until: Type.Optional(dateTime({ description: 'Written before this time.' })),
};

export const LogLinesQuery = Type.Object({
  ...range,
  order: Type.Optional(stringEnum(['newest', 'oldest'], { default: 'newest', description: 'Which lines come first.' })),
  limit: pageLimit('lines', { max: 1000, default: 200 }),
  cursor: Type.Optional(
    Type.String({ description: '`nextCursor` of the page before, with the same filters; or the id of a line.' }),
  ),
  include: Type.Optional(
    Type.String({
      description: '`RECORD`: what a logger wrote as JSON has its `message`, `jobId` and `traceback` beside the line.',
    }),
  ),
});
export const EndpointLogLinesQuery = Type.Object({ ...LogLinesQuery.properties, workerId });

export const LogDownloadQuery = Type.Object(range);
export const EndpointLogDownloadQuery = Type.Object({ ...range, workerId });

const LogLineResponse = Type.Object({
  id: Type.String({ description: 'Position of the line, as in a stream.' }),
  workerId: nullableString({ description: 'Null in the log of a pod.' }),
  source: stringEnum(['container', 'system']),
  level: Type.Unsafe<(typeof LOG_LEVELS)[number] | null>({
    type: ['string', 'null'],
    enum: [...LOG_LEVELS, null],
    description: 'As recognized in the text; null if none was.',
  }),
  line: Type.String(),
  ts: dateTime(),
  message: Type.Optional(
    Type.String({
      description:
        'With `include=RECORD`, of lines that a logger wrote as JSON: the message, then other members as `name=value`.',
    }),
  ),
  jobId: Type.Optional(nullableString({ description: 'Beside `message`: the job that the line names.' })),
  traceback: Type.Optional(
    nullableString({ description: 'Beside `message`: the stack of an error, with its line breaks.' }),
  ),
});

export const LogLines = Type.Object(
  {
    lines: Type.Array(LogLineResponse, { description: 'In the order asked for.' }),
    nextCursor: nullableString({ description: 'The `cursor` of the next page; null at the end of the log.' }),
    searchedTo: nullableString({
      format: 'date-time',
      description:
        'Set when the search stopped before it found `limit` lines, because it had read 16 MiB of the log, found 4 MiB, or read for a second: the time that it reached. `nextCursor` continues there.',
    }),
    keptSince: nullableString({
      format: 'date-time',
      description:
        'Lines that were stored before this time have been removed, because of their age or the size of all logs. Null: none have been.',
    }),
  },
  { $id: 'LogLines', description: 'Podyard only: a page of a log.' },
);

export const LogHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'Resume after this event id or time; wins over the query.' }),
  ),
});

export const LOG_SCHEMAS: NamedSchemas = [
  [
    LogLines,
    {
      lines: [
        {
          id: '2026-11-20T10:02:19.481Z/000000000041',
          workerId: 'w9h3s6d1f8g2jk',
          source: 'container',
          level: 'ERROR',
          line: '{"requestId": "019aa0f3-9a4e-7c11-9d2b-5f0c7a61e3b4-u1", "message": "the audio file is empty", "level": "ERROR"}',
          ts: '2026-11-20T10:02:19.481Z',
        },
      ],
      nextCursor: null,
      searchedTo: null,
      keptSince: '2026-10-21T08:14:00.000Z',
    },
  ],
];
