import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Queued jobs, and the bytes of their payloads. */
export interface QueueTally {
  jobs: number;
  bytes: number;
}

/** Counts what all endpoints of a user have queued. Reads only counters: the cost does not grow with the queue. */
export async function readQueueTally(db: Db, userId: UserId): Promise<QueueTally> {
  const result = await db.query<QueueTally>({
    name: 'user-queued',
    text: `select coalesce(sum(k.queued + k.queued_low), 0)::int8 as jobs, coalesce(sum(k.queued_bytes), 0)::int8 as bytes
           from endpoints e join endpoint_counters k on k.endpoint_id = e.id where e.user_id = $1`,
    values: [userId],
  });
  return result.rows[0]!;
}
