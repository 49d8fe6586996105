import type { EndpointState } from '../../api/live-snapshots.ts';
import { rowOf, type StatusLook } from '../../ui/text/labels.ts';

export type StateName = EndpointState['state'];

interface StateRow extends StatusLook {
  /** A person should look into it. */
  needsAttention?: true;
}

/** How the states of endpoints are shown, the most urgent first. */
export const ENDPOINT_STATES = {
  FAILING: { label: 'Failing', color: 'red', needsAttention: true },
  WAITING_FOR_CAPACITY: { label: 'Waiting for capacity', color: 'orange', needsAttention: true },
  STARTING: { label: 'Starting', color: 'blue' },
  ROLLING_OUT: { label: 'Rolling out', color: 'blue' },
  PAUSED: { label: 'Paused', color: 'gray', needsAttention: true },
  HEALTHY: { label: 'Healthy', color: 'green' },
  SCALED_TO_ZERO: { label: 'Scaled to zero', color: 'gray' },
} as const satisfies Record<StateName, StateRow>;

export function needsAttention(state: string): boolean {
  return rowOf<StateRow>(ENDPOINT_STATES, state)?.needsAttention ?? false;
}
