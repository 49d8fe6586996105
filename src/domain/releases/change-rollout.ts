import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { listReleases, type Rollout } from './list-releases.ts';
import { updateRolloutPaused } from './release-store.ts';

/**
 * Pauses the roll-out of an endpoint's newest release, or lets it go on. While it is paused no worker is replaced, of
 * this release or of a later one; what is started is on the newest release. Twice the same is no error. Throws `notFound`.
 */
export async function changeRollout(
  context: Context,
  actor: Actor,
  id: EndpointId,
  action: 'pause' | 'resume',
): Promise<Rollout> {
  await transaction(context.pool, async (db) => {
    await getEndpointRow(db, actor.userId, id, 'for update');
    await updateRolloutPaused(db, actor.userId, id, action === 'pause');
  });
  publishEndpoint(context, id);
  return (await listReleases(context.pool, actor.userId, id)).rollout;
}
