import type { WorkerId } from '../../core/ids.ts';

export const TRIAL_STATES = ['NOT_TRIED', 'WAITING', 'RUNNING', 'PASSED', 'FAILED', 'SKIPPED'] as const;

/** The trial of an endpoint's newest release: whether one of its workers becomes ready (docs/states.md, "Release"). */
export interface Trial {
  state: (typeof TRIAL_STATES)[number];
  /** Why it waits, failed or was skipped: one sentence. */
  reason: string | null;
  /** The last lines that a failed worker printed, for readers of its log. */
  lines: string[];
  /** The worker that is tried, that passed or that failed. */
  workerId: WorkerId | null;
  /** The version of the earlier release that serves because this one failed; null: none. */
  servingVersion: number | null;
}

/** A trial with nothing but its state. */
export const bareTrial = (state: Trial['state']): Trial => ({
  state,
  reason: null,
  lines: [],
  workerId: null,
  servingVersion: null,
});
