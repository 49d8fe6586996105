import type { Wire } from '../shared/records.ts';

/** Where the API writes CPU endpoints: the older revision cannot. */
export const NEWER_ENDPOINTS = '/2026-08/v2/serverless';

/** What the older revision fills in, and the newer one requires. */
const CREATED = { type: 'QUEUE_BASED', scaling: { value: 4 } };

/** Turns the body of a create into that of revision 2026-08. */
export function toNewerCreate(body: Wire): Wire {
  const type: string = body.type ?? CREATED.type;
  const scalerType = type === 'LOAD_BALANCING' ? 'REQUEST_COUNT' : 'QUEUE_DELAY';
  const scaling = { type: scalerType, ...CREATED.scaling, ...body.scaling };
  const newer = toNewerChange({ ...body, scaling }, { scaling });
  return { ...newer, type: type === 'LOAD_BALANCING' ? 'LOAD_BALANCER' : 'QUEUE' };
}

/**
 * Turns the body of an update into that of revision 2026-08, where `scaling` is replaced as a whole: what the body leaves out
 * comes from the endpoint as the older revision shows it.
 */
export function toNewerChange(body: Wire, current: { scaling: Wire }): Wire {
  const { type: _, scaling = {}, workers, ...rest } = body;
  const { type = current.scaling.type, value = current.scaling.value, idleTimeout } = scaling;
  const isScaled = scaling.type !== undefined || scaling.value !== undefined;
  const range = { ...workers, ...(idleTimeout !== undefined && { idleTimeout }) };
  return {
    ...rest,
    ...(Object.keys(range).length > 0 && { workers: range }),
    ...(isScaled && {
      scaling: type === 'REQUEST_COUNT' ? { type, requestCount: Math.ceil(value) } : { type, queueDelay: value },
    }),
  };
}
