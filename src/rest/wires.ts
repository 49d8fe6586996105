import type { RestRevision } from '../core/rest-revisions.ts';
import type { EndpointWire } from './endpoints/endpoint-wire.ts';
import { ENDPOINT_WIRE_2026_07 } from './endpoints/wire-2026-07.ts';
import { ENDPOINT_WIRE_2026_08 } from './endpoints/wire-2026-08.ts';
import type { Wire } from './shared/wire.ts';

/** How a revision spells the resources in which revisions differ. Routes get theirs from here; nothing below knows a revision. */
export interface Wires extends Readonly<Record<string, Wire>> {
  readonly endpoints: EndpointWire;
}

export const WIRES: Readonly<Record<RestRevision, Wires>> = {
  '2026-07': { endpoints: ENDPOINT_WIRE_2026_07 },
  '2026-08': { endpoints: ENDPOINT_WIRE_2026_08 },
};

/** Returns the hints of all of a revision's wires, by schema. */
export function hintsOf(wires: Wires): NonNullable<Wire['hints']> {
  return Object.assign({}, ...Object.values(wires).map(({ hints }) => hints));
}
