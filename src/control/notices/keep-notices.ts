import type { Clock } from '../../core/clock.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { decideNotices } from '../../domain/notices/decide-notices.ts';
import { listEnabledDestinations } from '../../domain/notices/destination-store.ts';
import { findConditions, unknownEvents } from '../../domain/notices/find-conditions.ts';
import { type NoticeFacts, readNoticeFacts } from '../../domain/notices/notice-facts.ts';
import {
  expireMessages,
  forgetLook,
  listOpenNotices,
  readLastLook,
  recordDecision,
  recordLook,
} from '../../domain/notices/outbox.ts';

const TICK_MS = 60_000;

interface Deps {
  pool: Pool;
  clock: Clock;
  logger: Logger;
  /** The epoch of this term. */
  epoch: number;
  /** The problem of the disk, a sentence without a period; null: none. Rejects if it cannot be read. */
  readDisk: () => Promise<string | null>;
  /** Returns what is known of a newer version by now. */
  readUpdate: () => NoticeFacts['update'];
  /** Called after a look: there may be something to send. */
  onLook: () => void;
}

/**
 * Looks once a minute at what holds, and puts what destinations are to be told into the outbox. Each term begins anew: what was told is in the
 * database. Reads next to nothing where there are no destinations.
 */
export function noticeLoop(deps: Deps): Pick<Loop, 'start' | 'stop' | 'runOnce'> {
  const { pool, clock, logger, epoch, onLook } = deps;
  let leader: NoticeFacts['leader'] | null = null;
  const loop = new Loop({
    name: 'keep-notices',
    tickMs: TICK_MS,
    logger,
    runOnce: async () => {
      const nowMs = clock.now();
      leader ??= { epoch, sinceMs: nowMs, before: await readLastLook(pool) };
      await tellAll(deps, leader, nowMs);
      await recordLook(pool, epoch, nowMs); // after what it was read for: a kill in between tells of the next leader
      await expireMessages(pool);
      onLook();
      return undefined;
    },
  });
  return {
    start: () => loop.start(),
    runOnce: () => loop.runOnce(),
    stop: async () => {
      await loop.stop();
      await forgetLook(pool, epoch).catch(() => {}); // refused to a leader that was replaced; its successor tells
    },
  };
}

async function tellAll(
  { pool, readDisk, readUpdate }: Deps,
  leader: NoticeFacts['leader'],
  nowMs: number,
): Promise<void> {
  const destinations = await listEnabledDestinations(pool);
  if (destinations.length === 0) return;
  const disk = await readDisk().catch(() => undefined);
  const facts: NoticeFacts = { ...(await readNoticeFacts(pool, nowMs)), disk, leader, update: readUpdate() };
  const open = await listOpenNotices(pool);
  for (const destination of destinations) {
    const conditions = findConditions(facts, destination, nowMs);
    const decision = decideNotices(conditions, open.get(destination.id) ?? [], unknownEvents(facts), nowMs);
    const changes = [decision.begin, decision.end, decision.absent, decision.returned];
    if (changes.some(({ length }) => length > 0)) await recordDecision(pool, destination, decision);
  }
}
