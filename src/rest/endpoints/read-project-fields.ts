import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import { ENDPOINT_WIRE_2026_07 } from './wire-2026-07.ts';

/** Maps fields of a podyard.yaml, valid by its schema: those of REST, and the CPU flavors of the newer revision. */
export function readProjectFields(fields: object, before: Endpoint): EndpointChange {
  const { cpu, ...others } = fields as { cpu?: EndpointChange['cpu'] };
  return { ...ENDPOINT_WIRE_2026_07.toChange(others as never, before), ...(cpu && { cpu }) };
}
