import { api, unwrap } from '../../../api/client.ts';

/** Asks for the trial of an endpoint's newest release: without workers, one is started to see whether it becomes ready. */
export async function tryRelease(id: string): Promise<void> {
  await unwrap(api.POST('/v2/serverless/{id}/rollout', { params: { path: { id } }, body: { action: 'try' } }));
}
