import type { EndpointId } from '../../core/ids.ts';
import { whyNoTrial } from '../../scaling/decide-trial.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { listReleases, type Rollout } from './list-releases.ts';
import { isRolloutPaused, updateRolloutPaused } from './release-store.ts';
import { askForTrial, skipTrial } from './trial-store.ts';

export const ROLLOUT_ACTIONS = ['pause', 'resume', 'try', 'skip-trial'] as const;

/**
 * Changes the roll-out of an endpoint's newest release. While paused, no worker is replaced, but new ones start on the newest
 * release. `try` asks for its trial, again if it failed or was skipped; `skip-trial` rolls it out without one. Repeating an
 * action is not an error. Throws `notFound`.
 */
export const changeRollout: Operation<Tx, { id: EndpointId; action: (typeof ROLLOUT_ACTIONS)[number] }, Rollout> = {
  name: 'endpoint.change-rollout',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, bus }, { id, action }) {
    const endpoint = await getEndpointRow(db, actor.userId, id, 'for update');
    if (action === 'try') {
      const isPaused = await isRolloutPaused(db, actor.userId, id);
      const hindrance = whyNoTrial({ max: endpoint.workers.max, isRolloutPaused: isPaused });
      for (const workerId of await askForTrial(db, endpoint, hindrance)) bus.publish('worker', workerId);
    } else if (action === 'skip-trial') await skipTrial(db, endpoint, 'it was asked to roll out without one');
    else await updateRolloutPaused(db, actor.userId, id, action === 'pause');
    publishEndpoint(bus, id);
    return (await listReleases(db, actor.userId, id)).rollout;
  },
  subject: ({ id }) => id,
};
