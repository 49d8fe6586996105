import type { EndpointState } from '../../api/live-snapshots.ts';
import { rowOf, type StatusLook } from '../../ui/text/labels.ts';

export type StateName = EndpointState['state'];

interface StateRow extends StatusLook {
  /** A person should look into it. */
  needsAttention: boolean;
}

/** How the states of endpoints are shown: from what needs a person to what needs nobody. */
export const ENDPOINT_STATES = {
  FAILING: { label: 'Failing', color: 'red', needsAttention: true },
  WAITING_FOR_CAPACITY: { label: 'Waiting for capacity', color: 'orange', needsAttention: true },
  STARTING: { label: 'Starting', color: 'blue', needsAttention: false },
  ROLLING_OUT: { label: 'Rolling out', color: 'blue', needsAttention: false },
  PAUSED: { label: 'Paused', color: 'gray', needsAttention: true },
  HEALTHY: { label: 'Healthy', color: 'green', needsAttention: false },
  SCALED_TO_ZERO: { label: 'Scaled to zero', color: 'gray', needsAttention: false },
} as const satisfies Record<StateName, StateRow>;

export function needsAttention(state: string): boolean {
  return rowOf(ENDPOINT_STATES, state)?.needsAttention ?? false;
}
