import { Type } from 'typebox';
import { nullableInteger, nullableString, ref, stringEnum } from './schema.ts';

const count = Type.Integer({ minimum: 0 });

export const WorkerResponse = Type.Object(
  {
    id: Type.String(),
    status: stringEnum(['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'], {
      description: 'Busy, ready, starting, waiting for capacity, or in trouble.',
    }),
    isStale: Type.Boolean({ description: 'It runs another version than the newest.' }),
    version: nullableInteger(),
    image: nullableString(),
    gpuCount: count,
    gpuTypeId: nullableString(),
    dataCenterId: nullableString(),
    uptimeSeconds: nullableInteger(),
    startedAt: nullableString({ format: 'date-time' }),
  },
  { $id: 'Worker' },
);

export const WorkerListResponse = Type.Object(
  {
    workers: Type.Array(ref(WorkerResponse)),
    summary: Type.Object({
      running: count,
      idle: count,
      initializing: count,
      throttled: count,
      unhealthy: count,
      total: count,
    }),
    endpointVersion: nullableInteger(),
  },
  { $id: 'WorkerList', description: 'The live workers, oldest first, and their roll-up.' },
);

export const WorkerParams = Type.Object({
  id: Type.String({ description: 'Endpoint identifier.' }),
  workerId: Type.String({ description: 'Worker identifier.' }),
});

export const LogQuery = Type.Object({
  source: Type.Optional(stringEnum(['container', 'system'], { description: 'Absent: both.' })),
  tail: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 5000, default: 100, description: 'Begin with the last so many lines.' }),
  ),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Begin at this time; `tail` is ignored.' })),
});

export const LogHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'Go on after this event, or after this time; wins over the query.' }),
  ),
});
