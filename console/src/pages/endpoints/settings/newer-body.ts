/** Bodies of revision 2026-08, for CPU endpoints. */
import { changedSettings, type EndpointValues, newEndpointBody } from './endpoint-values.ts';

export function toNewerCreate(values: EndpointValues): object {
  const { gpu: _, scaling: __, workers, ...same } = newEndpointBody(values);
  return {
    ...same,
    type: values.type === 'LOAD_BALANCING' ? 'LOAD_BALANCER' : 'QUEUE',
    cpu: values.cpus,
    workers: { ...workers, ...idleTimeout(values) },
    scaling: scalingOf(values),
  };
}

/** Returns only what changed; scaling is replaced as a whole. */
export function toNewerChange(before: EndpointValues, after: EndpointValues): object {
  const { gpu: _, scaling, workers, ...same } = changedSettings(before, after);
  const hasTimeout = before.scaling.idleTimeout !== after.scaling.idleTimeout;
  const range = { ...workers, ...(hasTimeout && idleTimeout(after)) };
  const isSameCpu = JSON.stringify(before.cpus) === JSON.stringify(after.cpus);
  return {
    ...same,
    ...(!isSameCpu && { cpu: after.cpus }),
    ...(Object.keys(range).length > 0 && { workers: range }),
    ...(scaling && { scaling: scalingOf(after) }),
  };
}

function scalingOf({ scaling: { type, value } }: EndpointValues): object {
  return type === 'REQUEST_COUNT' ? { type, requestCount: Math.ceil(value) } : { type, queueDelay: value };
}

/** A queue that scales on requests has none. */
function idleTimeout({ type, scaling }: EndpointValues): object {
  const hasNone = type === 'QUEUE_BASED' && scaling.type === 'REQUEST_COUNT';
  return hasNone ? {} : { idleTimeout: scaling.idleTimeout };
}
