import { CONTAINER_EXAMPLE, type Examples, USER_ID } from '../shared/example-values.ts';

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

const rollout = {
  inProgress: false,
  workersOnLatest: 1,
  workersTotal: 1,
  percentOnLatest: 100,
  paused: false,
};

export const RELEASE_EXAMPLES: Examples = {
  Release: release,
  ReleaseList: { endpointVersion: 2, rollout, releases: [release] },
  Rollout: rollout,
  ChangeRolloutRequest: { action: 'pause' },
};
