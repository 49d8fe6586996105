import type { Static } from 'typebox';
import type { ReleaseList, Rollout } from '../../domain/releases/list-releases.ts';
import type { Release } from '../../domain/releases/release.ts';
import type { ReleaseListResponse, ReleaseResponse, RolloutResponse } from './release-schemas.ts';

export function toReleaseListResponse(list: ReleaseList): Static<typeof ReleaseListResponse> {
  return { ...list, rollout: toRolloutResponse(list.rollout), releases: list.releases.map(toReleaseResponse) };
}

function toReleaseResponse({ createdBy, createdAt, ...release }: Release): Static<typeof ReleaseResponse> {
  return {
    ...release,
    source: release.buildId === null ? 'MANUAL' : 'GIT_BUILD',
    createdByUserId: createdBy,
    createdAt: createdAt.toISOString(),
  };
}

export function toRolloutResponse({ isPaused, ...rollout }: Rollout): Static<typeof RolloutResponse> {
  return { ...rollout, paused: isPaused };
}
