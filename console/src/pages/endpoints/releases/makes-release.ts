import type { Schemas } from '../../../api/client.ts';

/** The settings whose change makes a release. */
const RELEASED: (keyof Schemas['UpdateEndpointRequest'])[] = [
  'image',
  'args',
  'disk',
  'ports',
  'env',
  'registry',
  'gpu',
  'networkVolumes',
];

/** True if an update with this body makes a release. */
export function makesRelease(body: Schemas['UpdateEndpointRequest']): boolean {
  return RELEASED.some((setting) => setting in body);
}
