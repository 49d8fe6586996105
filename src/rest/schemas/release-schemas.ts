import { Type } from 'typebox';
import { dateTime, nullableString, ref, stringEnum } from './schema.ts';

export const ReleaseResponse = Type.Object(
  {
    id: Type.String(),
    version: Type.Integer(),
    source: stringEnum(['MANUAL', 'GIT_BUILD']),
    buildId: nullableString(),
    createdByUserId: nullableString(),
    workerCount: Type.Integer({ minimum: 0, description: 'Live workers that run it.' }),
    createdAt: dateTime(),
    diff: Type.Array(
      Type.Object({
        field: Type.String({ description: 'Dotted, e.g. `gpu.count`.' }),
        old: Type.Unknown(),
        new: Type.Unknown(),
      }),
      { description: 'Changes against the version before; values of `env` are hidden.' },
    ),
  },
  { $id: 'Release' },
);

export const ReleaseListResponse = Type.Object(
  {
    endpointVersion: Type.Integer(),
    rollout: Type.Object({
      inProgress: Type.Boolean(),
      workersOnLatest: Type.Integer(),
      workersTotal: Type.Integer(),
      percentOnLatest: Type.Integer({ minimum: 0, maximum: 100 }),
    }),
    releases: Type.Array(ref(ReleaseResponse), { description: 'Newest first.' }),
  },
  { $id: 'ReleaseList', description: 'The releases and how far the newest has come.' },
);
