import { type Pool, transaction } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { recordEvent } from './record-event.ts';

/** Links of the chain that one transaction removes at most, of up to a thousand entries each. */
const MAX_LINKS = 20;

/** Removes entries whose link of the chain is older than `olderThan`; says so in the log itself. Resolves with how many. */
export async function expireEntries(pool: Pool, actor: Admin, olderThan: Date): Promise<number> {
  return transaction(pool, async (db) => {
    const { rows } = await db.query<{ upto: number; head: Buffer; entries: number }>(
      'select * from podyard_expire_audit($1, $2)',
      [olderThan, MAX_LINKS],
    );
    const [expired] = rows;
    if (!expired) return 0;
    const { upto, head, entries } = expired;
    await recordEvent(db, actor, {
      operation: 'audit.expire',
      ownerId: null,
      changes: { entries: [entries, 0], upto: [null, upto], head: [null, head.toString('hex')] },
    });
    return entries;
  });
}
