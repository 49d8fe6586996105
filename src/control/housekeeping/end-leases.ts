import { monotonicClock } from '../../core/clock.ts';
import { doEach } from '../../core/flow/do-each.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { endLease, listEndedLeases } from '../../domain/leases/endpoint-lease.ts';

const TICK_MS = 30_000;
/** While there are leases: a client may have shortened one. */
const LOOK_MS = 5_000;
/** While the server was down, no client could renew: so long after the start of a leader, no lease ends. */
const GRACE_MS = 60_000;

/** Deletes endpoints whose client has not renewed their lease. */
export function leaseLoop(
  { pool, bus, logger }: { pool: Pool; bus: Bus; logger: Logger },
  { graceMs = GRACE_MS }: { graceMs?: number } = {},
): Loop {
  const startedAt = monotonicClock.now();
  return new Loop({
    name: 'endpoint-leases',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => [bus.subscribe('endpoint', wake)],
    runOnce: async () => {
      const { ended, nextInMs } = await listEndedLeases(pool);
      const waitMs = startedAt + graceMs - monotonicClock.now();
      if (waitMs > 0) return ended.length === 0 && nextInMs === null ? undefined : { inMs: waitMs };
      await doEach(ended, async ({ endpointId, userId }) => {
        const isOver = await change({ pool, bus, logger }, systemActor(userId), endLease, { id: endpointId });
        if (isOver) logger.info({ userId, endpointId }, 'endpoint deleted: its client has not renewed its lease');
      });
      return nextInMs === null ? undefined : { inMs: Math.min(LOOK_MS, nextInMs) };
    },
  });
}
