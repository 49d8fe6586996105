import type { SessionId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { systemActor } from '../access/actor.ts';
import { recordEvent } from '../audit/record-event.ts';

export interface EndedSession {
  id: SessionId;
  userId: UserId;
}

/** Records that Podyard itself ended sessions, in the transaction that did. */
export async function recordSessionEnds(db: Db, ended: readonly EndedSession[], reason: string): Promise<void> {
  for (const { id, userId } of ended) {
    await recordEvent(db, systemActor(userId), { operation: 'session.end', recordId: id, reason });
  }
}
