import type { Clock } from '../../core/clock.ts';
import { doEach } from '../../core/flow/do-each.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { recordEvent } from '../../domain/audit/record-event.ts';
import { type DuePod, forgetStop, listDuePods, stopDuePod, terminateDuePod } from '../../domain/pods/pod-lifetime.ts';
import { decideDeadline } from './decide-pod.ts';

/** While no time is near: the clock may jump. */
const TICK_MS = 30_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  clock: Clock;
  logger: Logger;
}

/**
 * Stops and terminates pods at the times that their users set. It only writes what is wanted, with the reason: PodRunner
 * carries that out. Times are in the table, so a restart loses none; what came due meanwhile is done at once.
 */
export function lifetimeLoop(deps: Deps): Loop {
  const { pool, bus, clock, logger } = deps;
  return new Loop({
    name: 'pod-lifetimes',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => [bus.subscribe('pod', wake)],
    runOnce: async () => {
      const now = clock.now();
      const { due, nextAt } = await listDuePods(pool, now);
      await doEach(due, (pod) => endDuePod(deps, pod, now));
      return nextAt === null ? undefined : { inMs: Math.min(TICK_MS, nextAt.getTime() - now) };
    },
  });
}

async function endDuePod({ pool, bus, logger }: Deps, pod: DuePod, now: number): Promise<void> {
  const action = decideDeadline(pod, now);
  if (action.do === 'nothing') return;
  if (action.do === 'forget') return forgetStop(pool, pod);
  const carryOut = action.do === 'stop' ? stopDuePod : terminateDuePod;
  const isDone = await transaction(pool, async (db) => {
    if (!(await carryOut(db, pod, action.reason))) return false;
    const event = { operation: `pod.${action.do}`, recordId: pod.id, reason: action.reason } as const;
    await recordEvent(db, systemActor(pod.userId), event);
    return true;
  });
  if (!isDone) return;
  logger.info({ userId: pod.userId, podId: pod.id, reason: action.reason }, `pod ${action.do} at its time`);
  bus.publish('pod', pod.id);
}
