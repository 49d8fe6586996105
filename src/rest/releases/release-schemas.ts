import { Type } from 'typebox';
import { closed, dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';

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

export const RolloutResponse = Type.Object(
  {
    inProgress: Type.Boolean({ description: 'There are workers of older releases.' }),
    workersOnLatest: Type.Integer(),
    workersTotal: Type.Integer(),
    percentOnLatest: Type.Integer({ minimum: 0, maximum: 100 }),
    paused: Type.Boolean({ description: 'Podyard only: no worker is replaced until the roll-out is resumed.' }),
  },
  { $id: 'Rollout', description: 'How far the newest release has come.' },
);

export const ChangeRolloutRequest = closed(
  { action: stringEnum(['pause', 'resume']) },
  { $id: 'ChangeRolloutRequest', description: 'Podyard only.' },
);

export const ReleaseParams = Type.Object({
  id: Type.String({ description: 'Endpoint identifier.' }),
  releaseId: Type.String({ description: 'Release identifier.' }),
});

export const ReleaseListResponse = Type.Object(
  {
    endpointVersion: Type.Integer(),
    rollout: ref(RolloutResponse),
    releases: Type.Array(ref(ReleaseResponse), { description: 'Newest first.' }),
  },
  { $id: 'ReleaseList', description: 'The releases and how far the newest has come.' },
);
