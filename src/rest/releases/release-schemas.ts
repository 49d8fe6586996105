import { ROLLOUT_ACTIONS } from '../../domain/releases/change-rollout.ts';
import { TRIAL_STATES } from '../../domain/releases/trial.ts';
import { CONTAINER_EXAMPLE, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
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

const TrialResponse = Type.Object(
  {
    state: stringEnum([...TRIAL_STATES]),
    reason: nullableString({ description: 'What it waits for, or why it failed or was skipped: one sentence.' }),
    lines: Type.Array(Type.String(), { description: 'The last lines that the failed worker printed; at most 8.' }),
    workerId: nullableString({ description: 'The worker that is tried, that passed or that failed.' }),
    servingVersion: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The version of the earlier release that serves because this one failed.',
    }),
  },
  {
    $id: 'ReleaseTrial',
    description:
      'Podyard only: whether a worker of the newest release became ready. `NOT_TRIED`: nobody asked, and none is known to have been.',
  },
);

export const RolloutResponse = Type.Object(
  {
    inProgress: Type.Boolean({ description: 'True while workers of older releases exist.' }),
    workersOnLatest: Type.Integer(),
    workersTotal: Type.Integer(),
    percentOnLatest: Type.Integer({ minimum: 0, maximum: 100 }),
    paused: Type.Boolean({ description: 'Podyard only: true while no worker is replaced.' }),
    trial: ref(TrialResponse),
  },
  { $id: 'Rollout', description: 'Progress of the newest release.' },
);

export const ChangeRolloutRequest = closed(
  { action: stringEnum([...ROLLOUT_ACTIONS]) },
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

const ReleaseImage = Type.Object(
  {
    releaseId: Type.String(),
    version: Type.Integer(),
    image: Type.String({ description: "The image's name, as it was given." }),
    digest: nullableString({
      description:
        'What the name stood for when the first worker was about to start, `sha256:…`: all workers of the release run exactly that. Null until it is resolved.',
    }),
    resolvedAt: nullableString({ format: 'date-time' }),
    isResolving: Type.Boolean({
      description:
        'An update named the image again, and it is not known yet whether the name stands for another digest.',
    }),
    problem: nullableString({ description: 'Why the image cannot be resolved or pulled, in one sentence.' }),
  },
  { $id: 'ReleaseImage', description: 'Podyard only.' },
);

export const ReleaseImageListResponse = Type.Object(
  { images: Type.Array(ref(ReleaseImage), { description: 'Newest release first.' }) },
  { $id: 'ReleaseImageList', description: 'Podyard only. What the images of releases stand for.' },
);

const image = {
  releaseId: 'r4t7y1u8i2o5pl',
  version: 2,
  image: CONTAINER_EXAMPLE.image,
  digest: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  resolvedAt: '2026-11-20T10:00:01.250Z',
  isResolving: false,
  problem: null,
};

const release = {
  id: 'r4t7y1u8i2o5pl',
  version: 2,
  source: 'MANUAL',
  buildId: null,
  createdByUserId: USER_ID,
  workerCount: 1,
  createdAt: '2026-11-20T10:00:00.000Z',
  diff: [{ field: 'image', old: 'ghcr.io/example/transcriber:1.3.2', new: CONTAINER_EXAMPLE.image }],
};

const trial = { state: 'PASSED', reason: null, lines: [], workerId: 'w8r2t5y1u9i3o6', servingVersion: null };

const rollout = {
  inProgress: false,
  workersOnLatest: 1,
  workersTotal: 1,
  percentOnLatest: 100,
  paused: false,
  trial,
};

export const RELEASE_SCHEMAS: NamedSchemas = [
  [ReleaseResponse, release],
  [ReleaseListResponse, { endpointVersion: 2, rollout, releases: [release] }],
  [TrialResponse, trial],
  [RolloutResponse, rollout],
  [ReleaseImage, image],
  [ReleaseImageListResponse, { images: [image] }],
  [ChangeRolloutRequest, { action: 'pause' }],
];
