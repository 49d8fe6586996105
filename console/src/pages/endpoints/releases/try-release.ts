import { api, type Schemas, unwrap } from '../../../api/client.ts';

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

/** Asks for the trial of an endpoint's newest release: without workers, one is started to see whether it becomes ready. */
export async function tryRelease(id: string): Promise<void> {
  await unwrap(api.POST('/v2/serverless/{id}/rollout', { params: { path: { id } }, body: { action: 'try' } }));
}
