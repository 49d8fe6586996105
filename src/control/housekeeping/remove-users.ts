import { doEach } from '../../core/flow/do-each.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { listRemovedUsers, removeUser } from '../../domain/users/remove-user.ts';

const TICK_MS = 60_000;
/** While a deletion waits for workers and containers to end. */
const BUSY_TICK_MS = 2_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
}

/**
 * Deletes users with what they own, once an admin requested it. One that cannot be deleted keeps no other from being. A deletion of
 * thousands of endpoints stops after the one in progress.
 */
export function userRemovalLoop(deps: Deps): Loop {
  const { pool, bus, logger } = deps;
  let isStopped = false;
  return new Loop({
    name: 'remove-users',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => {
      isStopped = false;
      const stop = () => {
        isStopped = true;
      };
      return [bus.subscribe('user', wake), stop];
    },
    runOnce: async () => {
      let left = 0;
      await doEach(await listRemovedUsers(pool), async (userId) => {
        if (isStopped) return;
        if ((await removeUser(deps, userId, () => isStopped)) === null) logger.info({ userId }, 'user deleted');
        else left += 1;
      });
      return left > 0 ? { inMs: BUSY_TICK_MS } : undefined;
    },
  });
}
