/** Decides the trial of an endpoint's newest release (docs/states.md, "Release"). Pure. */

/** The stored state of a trial; while it is ASKED, the workers show how far it is. */
export type TrialState = 'ASKED' | 'PASSED' | 'FAILED' | 'SKIPPED';

export interface TrialFacts {
  /** `workers.max`. */
  max: number;
  isRolloutPaused: boolean;
  /** A worker of the release that has been ready; null: none is known. */
  readyWorkerId: string | null;
  /** A worker of the release that cannot become ready, since the trial was asked for. */
  failure: { workerId: string; reason: string } | null;
}

export type TrialEnd =
  | { state: 'PASSED'; workerId: string; reason: null }
  | { state: 'FAILED'; workerId: string; reason: string }
  | { state: 'SKIPPED'; workerId: null; reason: string };

/** Returns how a trial ends; undefined while it stays as it is. A failed one passes if a worker becomes ready after all. */
export function decideTrial(state: 'ASKED' | 'FAILED', facts: TrialFacts): TrialEnd | undefined {
  const { readyWorkerId, failure } = facts;
  if (readyWorkerId !== null) return { state: 'PASSED', workerId: readyWorkerId, reason: null };
  if (state === 'FAILED') return undefined;
  const hindrance = whyNoTrial(facts);
  if (hindrance !== null) return { state: 'SKIPPED', workerId: null, reason: hindrance };
  return failure === null ? undefined : { state: 'FAILED', ...failure };
}

/** Returns why an endpoint tries no release now; null if it does. */
export function whyNoTrial({ max, isRolloutPaused }: Pick<TrialFacts, 'max' | 'isRolloutPaused'>): string | null {
  if (max === 0) return 'workers.max is 0, so nothing runs';
  return isRolloutPaused ? 'the roll-out is paused' : null;
}
