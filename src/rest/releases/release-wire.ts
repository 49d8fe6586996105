import type { Static } from 'typebox';
import type { Rollout } from '../../domain/releases/list-releases.ts';
import type { RolloutResponse } from './release-schemas.ts';

export function toRolloutResponse({ isPaused, ...rollout }: Rollout): Static<typeof RolloutResponse> {
  return { ...rollout, paused: isPaused };
}
