import { closed, dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const ReleaseResponse = Type.Object(
  {
    id: Type.String(),
    version: Type.Integer(),
    source: stringEnum(['MANUAL', 'GIT_BUILD']),
    buildId: nullableString(),
    createdByUserId: nullableString(),
    workerCount: Type.Integer({ minimum: 0, description: 'Live workers of this release.' }),
    createdAt: dateTime(),
    diff: Type.Array(
      Type.Object({
        field: Type.String({ description: 'Dotted path, e.g. `gpu.count`.' }),
        old: Type.Unknown(),
        new: Type.Unknown(),
      }),
      { description: 'Changes since the previous version; values of `env` are hidden.' },
    ),
  },
  { $id: 'Release' },
);

export const RolloutResponse = Type.Object(
  {
    inProgress: Type.Boolean({ description: 'True while workers of older releases exist.' }),
    workersOnLatest: Type.Integer(),
    workersTotal: Type.Integer(),
    percentOnLatest: Type.Integer({ minimum: 0, maximum: 100 }),
    paused: Type.Boolean({ description: 'Podyard only: true while no worker is replaced.' }),
  },
  { $id: 'Rollout', description: 'Progress of the newest release.' },
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
  { $id: 'ReleaseList', description: 'The releases of an endpoint, and the roll-out of the newest.' },
);
