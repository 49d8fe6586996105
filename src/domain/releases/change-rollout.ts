import type { EndpointId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { listReleases, type Rollout } from './list-releases.ts';
import { updateRolloutPaused } from './release-store.ts';

/**
 * Pauses or resumes the roll-out of an endpoint's releases. While paused, no worker is replaced, but new ones start on the
 * newest release. Repeating an action is no error. Throws `notFound`.
 */
export const changeRollout: Operation<Tx, { id: EndpointId; action: 'pause' | 'resume' }, Rollout> = {
  name: 'endpoint.change-rollout',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, bus }, { id, action }) {
    await getEndpointRow(db, actor.userId, id, 'for update');
    await updateRolloutPaused(db, actor.userId, id, action === 'pause');
    publishEndpoint(bus, id);
    return (await listReleases(db, actor.userId, id)).rollout;
  },
  subject: ({ id }) => id,
};
