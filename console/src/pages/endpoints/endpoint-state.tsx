import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { enumLabel } from '../../ui/enum-label.ts';
import { ReasonAlert } from '../../ui/reason-view.tsx';
import { needsAttention, stateTitle } from './state-text.ts';

const COLORS: Record<string, string> = { FAILING: 'red', WAITING_FOR_CAPACITY: 'orange', PAUSED: 'gray' };

/** What somebody should know before anything else about an endpoint; nothing while it is well. */
export function EndpointStateAlert({ state }: { state: EndpointSnapshot['state'] }) {
  if (!needsAttention(state.state)) return null;
  return (
    <ReasonAlert
      color={COLORS[state.state] ?? 'blue'}
      title={stateTitle(enumLabel(state.state), state.since)}
      reason={state.reason}
    />
  );
}
