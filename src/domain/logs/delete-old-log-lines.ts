import type { Db } from '../../db/pool.ts';

/** Deletes old lines; returns how many. The BRIN index on `stored_at` finds old blocks without reading new ones. */
export async function deleteOldLogLines(db: Db, olderThan: Date): Promise<number> {
  const result = await db.query('delete from log_lines where stored_at < $1', [olderThan]);
  return result.rowCount ?? 0;
}
