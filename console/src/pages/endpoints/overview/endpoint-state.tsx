import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { rowOf } from '../../../ui/text/labels.ts';
import { ReasonAlert } from '../../../ui/text/reason-view.tsx';
import { ENDPOINT_STATES, isBrief, needsAttention, stateTitle } from '../state-text.ts';

/** What somebody should know of an endpoint's state: the whole reason, if the header's line has only its end, and warnings. */
export function EndpointStateAlerts({ state }: { state: EndpointSnapshot['state'] }) {
  return (
    <>
      <StateAlert state={state} />
      {state.warnings.map((warning) => (
        <ReasonAlert key={warning} color="orange" reason={warning} />
      ))}
    </>
  );
}

function StateAlert({ state }: { state: EndpointSnapshot['state'] }) {
  if (!needsAttention(state.state) || state.reason === null || isBrief(state.reason)) return null;
  return (
    <ReasonAlert
      color={rowOf(ENDPOINT_STATES, state.state)?.color ?? 'blue'}
      title={stateTitle(state)}
      reason={state.reason}
    />
  );
}
