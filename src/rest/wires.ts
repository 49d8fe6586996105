import type { RestRevision } from '../core/rest-revisions.ts';
import { SSH_KEY_WIRE_2026_07, SSH_KEY_WIRE_2026_08, type SshKeyWire } from './account/ssh-key-wire.ts';
import { CATALOG_WIRE_2026_07, CATALOG_WIRE_2026_08, type CatalogWire } from './catalog/catalog-wire.ts';
import type { EndpointWire } from './endpoints/endpoint-wire.ts';
import { ENDPOINT_WIRE_2026_07 } from './endpoints/wire-2026-07.ts';
import { ENDPOINT_WIRE_2026_08 } from './endpoints/wire-2026-08.ts';
import { POD_WIRE_2026_07, POD_WIRE_2026_08, type PodWire } from './pods/pod-wire.ts';
import type { Wire } from './shared/wire.ts';
import { TEMPLATE_WIRE_2026_07, TEMPLATE_WIRE_2026_08, type TemplateWire } from './templates/template-wire.ts';

/** How a revision spells the resources in which revisions differ. Routes get theirs from here; nothing below knows a revision. */
export interface Wires extends Readonly<Record<string, Wire>> {
  readonly catalog: CatalogWire;
  readonly endpoints: EndpointWire;
  readonly pods: PodWire;
  readonly sshKeys: SshKeyWire;
  readonly templates: TemplateWire;
}

export const WIRES: Readonly<Record<RestRevision, Wires>> = {
  '2026-07': {
    catalog: CATALOG_WIRE_2026_07,
    endpoints: ENDPOINT_WIRE_2026_07,
    pods: POD_WIRE_2026_07,
    sshKeys: SSH_KEY_WIRE_2026_07,
    templates: TEMPLATE_WIRE_2026_07,
  },
  '2026-08': {
    catalog: CATALOG_WIRE_2026_08,
    endpoints: ENDPOINT_WIRE_2026_08,
    pods: POD_WIRE_2026_08,
    sshKeys: SSH_KEY_WIRE_2026_08,
    templates: TEMPLATE_WIRE_2026_08,
  },
};

/** Returns the hints of all of a revision's wires, by schema. */
export function hintsOf(wires: Wires): NonNullable<Wire['hints']> {
  return Object.assign({}, ...Object.values(wires).map(({ hints }) => hints));
}
