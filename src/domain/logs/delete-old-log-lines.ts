import type { Db } from '../../db/pool.ts';

/** Answers how many lines went. The BRIN index on `stored_at` finds the old blocks without reading the new ones. */
export async function deleteOldLogLines(db: Db, olderThan: Date): Promise<number> {
  const result = await db.query('delete from log_lines where stored_at < $1', [olderThan]);
  return result.rowCount ?? 0;
}
