import type { Static } from 'typebox';
import { type PodLifetime as Lifetime, readDeadline } from '../../domain/pods/pod-lifetime.ts';
import type { PodLifetime } from './pod-schemas.ts';

/** Reads the times of a request. Throws `badRequest` for one that is over. */
export function toLifetime(
  { stopAfter = null, terminateAfter = null }: Partial<Static<typeof PodLifetime>>,
  nowMs: number,
): Lifetime {
  return {
    stopAt: stopAfter === null ? null : readDeadline(stopAfter, 'stopAfter', nowMs),
    terminateAt: terminateAfter === null ? null : readDeadline(terminateAfter, 'terminateAfter', nowMs),
  };
}

export function toLifetimeResponse({ stopAt, terminateAt }: Lifetime): Static<typeof PodLifetime> {
  return { stopAfter: stopAt?.toISOString() ?? null, terminateAfter: terminateAt?.toISOString() ?? null };
}
