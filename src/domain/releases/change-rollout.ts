import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { listReleases, type Rollout } from './list-releases.ts';
import { updateRolloutPaused } from './release-store.ts';

/**
 * Pauses or resumes the roll-out of an endpoint's releases. While paused, no worker is replaced, but new ones start on the
 * newest release. Repeating an action is no error. Throws `notFound`.
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
