import { Type } from 'typebox';
import { dateTime, nullableInteger, nullableString, ref, stringEnum } from '../shared/schema.ts';

const count = Type.Integer({ minimum: 0 });

const properties = {
  isStale: Type.Boolean({ description: 'True if it runs an older version than the newest.' }),
  version: nullableInteger(),
  image: nullableString(),
  gpuCount: count,
  gpuTypeId: nullableString(),
  dataCenterId: nullableString(),
  uptimeSeconds: nullableInteger(),
  startedAt: nullableString({ format: 'date-time' }),
};

export const WorkerResponse = Type.Object(
  {
    id: Type.String(),
    status: stringEnum(['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'], {
      description: 'Busy, idle, starting, waiting for capacity, or failing.',
    }),
    ...properties,
    reason: nullableString({ description: 'Podyard only: why it is throttled, unhealthy or not started yet.' }),
  },
  { $id: 'Worker' },
);

export const WorkerDetailResponse = Type.Object(
  {
    id: Type.String(),
    status: stringEnum(['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY', 'FROZEN', 'EXITED'], {
      description: 'As in the list of workers, or FROZEN or EXITED, which the list omits.',
    }),
    ...properties,
    reason: nullableString({ description: 'Why it is throttled, unhealthy, not started yet, frozen or ended.' }),
    decision: Type.String({ description: 'Why it was last started, thawed, frozen or stopped.' }),
    createdAt: dateTime(),
    frozenAt: nullableString({ format: 'date-time' }),
    frozenMemoryBytes: nullableInteger({ description: 'Memory that it held when last frozen.' }),
    endedAt: nullableString({ format: 'date-time' }),
    exitCode: nullableInteger(),
    timeline: Type.Array(
      Type.Object({
        stage: stringEnum(['capacity', 'pull', 'create', 'start', 'ready'], {
          description:
            'Waiting for capacity, pulling the image, creating the container, starting it, loading the program.',
        }),
        from: dateTime(),
        to: nullableString({ format: 'date-time', description: 'Null while it lasts.' }),
        ms: nullableInteger(),
      }),
      { description: 'Stages of its start, in order.' },
    ),
  },
  { $id: 'WorkerDetail', description: 'Podyard only: a live, frozen or ended worker.' },
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
  { $id: 'WorkerList', description: 'The live workers, oldest first, with counts by status.' },
);

export const WorkerParams = Type.Object({
  id: Type.String({ description: 'Endpoint identifier.' }),
  workerId: Type.String({ description: 'Worker identifier.' }),
});
