import { ENDPOINT_STATES, type EndpointState } from '../../domain/endpoints/endpoint-state.ts';
import { nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const STATE_FIELDS = {
  state: stringEnum(ENDPOINT_STATES, {
    description:
      'HEALTHY: workers take work. SCALED_TO_ZERO: no workers and no work. STARTING: no worker is ready yet. WAITING_FOR_CAPACITY: work waits for workers without a place. FAILING: starts fail, or workers are lost or unhealthy. ROLLING_OUT: workers of older releases are being replaced. PAUSED: `workers.max` is 0, or the roll-out is paused.',
  }),
  since: nullableString({ format: 'date-time', description: 'Null where it is not known.' }),
  reason: nullableString({ description: 'Why; of a failure with the last lines of output.' }),
  warnings: Type.Array(Type.String(), {
    description: 'What does not work although workers do: a webhook of the last hour whose address is not allowed.',
  }),
};

export const EndpointStateResponse = Type.Object(
  { id: Type.String(), ...STATE_FIELDS },
  { $id: 'EndpointState', description: 'Podyard only: the state of an endpoint.' },
);

export function toStateResponse({ state, since, reason, warnings }: EndpointState) {
  return { state, since: since?.toISOString() ?? null, reason, warnings };
}
