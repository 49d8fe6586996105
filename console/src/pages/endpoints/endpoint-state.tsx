import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { ReasonAlert } from '../../ui/reason-view.tsx';
import { isBrief, needsAttention, stateTitle } from './state-text.ts';

const COLORS: Record<string, string> = { FAILING: 'red', WAITING_FOR_CAPACITY: 'orange', PAUSED: 'gray' };

/** The whole reason of an endpoint's state, if the header's line has only its end; nothing while it is well. */
export function EndpointStateAlert({ state }: { state: EndpointSnapshot['state'] }) {
  if (!needsAttention(state.state) || state.reason === null || isBrief(state.reason)) return null;
  return <ReasonAlert color={COLORS[state.state] ?? 'blue'} title={stateTitle(state)} reason={state.reason} />;
}
