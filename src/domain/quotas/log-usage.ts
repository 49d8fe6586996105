import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Returns the log bytes stored today (UTC) for these users. Users without any are missing. */
export async function readLogUsage(db: Db, userIds: readonly UserId[]): Promise<Map<UserId, number>> {
  const { rows } = await db.query<{ userId: UserId; bytes: number }>({
    name: 'log-usage',
    text: `select user_id as "userId", bytes from log_usage
           where user_id = any($1::text[]) and day = (now() at time zone 'UTC')::date`,
    values: [userIds],
  });
  return new Map(rows.map(({ userId, bytes }) => [userId, bytes]));
}

/** Deletes the sums of days before yesterday. */
export async function deleteOldLogUsage(db: Db): Promise<void> {
  await db.query("delete from log_usage where day < (now() at time zone 'UTC')::date - 1");
}
