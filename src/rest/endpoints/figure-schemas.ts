import type { EndpointFigures } from '../../domain/endpoints/list-endpoint-figures.ts';
import { FIGURE_STEP_SECONDS } from '../../domain/history/read-history.ts';
import { ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { STATE_FIELDS, toStateResponse } from './state-schemas.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const latency = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], minimum: 0, description });

const SeriesResponse = Type.Object(
  {
    stepSeconds: Type.Integer(),
    requests: Type.Array(Type.Integer({ minimum: 0 })),
    latencyP95Ms: Type.Array(latency('Null for a step in which nothing ended.')),
  },
  { description: 'The last hour in steps, oldest first. Only with `ids`, and only if something ended in it.' },
);

export const EndpointFiguresResponse = Type.Object(
  {
    id: Type.String(),
    ...STATE_FIELDS,
    workers: count('Live workers.'),
    waiting: count('Jobs in the queue, or requests that are held.'),
    running: count('Jobs or requests that are being processed.'),
    requests: count('Jobs that ended within the last hour, without cancelled ones, or load-balanced requests.'),
    failed: count('Of them: failed and timed out jobs, or requests with a status of 5xx.'),
    requestsPerSecond: Type.Number({ minimum: 0, description: 'Average of the last hour.' }),
    latencyP95Ms: latency('From arrival to end, of the last hour. Within a tenth; null if nothing ended.'),
    costToday: Type.Number({ minimum: 0, description: 'USD since midnight, UTC, at the prices of billing.' }),
    series: Type.Optional(SeriesResponse),
  },
  { $id: 'EndpointFigures', description: 'Podyard only: what a list shows of an endpoint.' },
);

export const EndpointFiguresList = Type.Object(
  { figures: Type.Array(ref(EndpointFiguresResponse)) },
  { $id: 'EndpointFiguresList', description: 'Podyard only.' },
);

export const MAX_FIGURE_IDS = 100;

export const EndpointFiguresQuery = Type.Object({
  ids: Type.Optional(
    Type.String({
      description: `Endpoint identifiers, separated by commas, at most ${MAX_FIGURE_IDS}. Absent: all endpoints but those that are scaled to zero, did nothing within the hour, cost nothing today and have no warnings.`,
    }),
  ),
});

export function toFiguresResponse({
  series,
  state,
  since,
  reason,
  warnings,
  latencyP95Ms,
  ...figures
}: EndpointFigures) {
  return {
    ...figures,
    ...toStateResponse({ state, since, reason, warnings }),
    requestsPerSecond: figures.requests / 3600,
    latencyP95Ms: rounded(latencyP95Ms),
    ...(series && {
      series: {
        stepSeconds: FIGURE_STEP_SECONDS,
        requests: series.requests,
        latencyP95Ms: series.latencyP95Ms.map(rounded),
      },
    }),
  };
}

/** Milliseconds with two decimals: the rest is not accurate. */
function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}
