import { Type } from 'typebox';
import { dateTime, nullableInteger, nullableString, ref, stringEnum } from '../shared/schema.ts';

const count = Type.Integer({ minimum: 0 });

const properties = {
  isStale: Type.Boolean({ description: 'It runs another version than the newest.' }),
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
      description: 'Busy, ready, starting, waiting for capacity, or in trouble.',
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
      description: 'As in the list of workers, and FROZEN or EXITED for those that it does not hold.',
    }),
    ...properties,
    reason: nullableString({ description: 'Why it is throttled, unhealthy, not started yet, frozen or gone.' }),
    decision: Type.String({ description: 'Why it was started, thawed, frozen or told to leave, whichever was last.' }),
    createdAt: dateTime(),
    frozenAt: nullableString({ format: 'date-time' }),
    frozenMemoryBytes: nullableInteger({ description: 'What it held when it was last frozen.' }),
    endedAt: nullableString({ format: 'date-time' }),
    exitCode: nullableInteger(),
    timeline: Type.Array(
      Type.Object({
        stage: stringEnum(['capacity', 'pull', 'create', 'start', 'ready'], {
          description: 'Waiting for a place, bringing the image, making the container, starting it, its own loading.',
        }),
        from: dateTime(),
        to: nullableString({ format: 'date-time', description: 'null while it lasts.' }),
        ms: nullableInteger(),
      }),
      { description: 'What it went through until it took work, in order.' },
    ),
  },
  { $id: 'WorkerDetail', description: 'Podyard only: one worker, live, frozen or ended, and how its start went.' },
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
