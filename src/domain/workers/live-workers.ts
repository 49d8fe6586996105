import type { WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Returns those of the workers that have not ended. */
export async function listLiveAmong(db: Db, ids: readonly WorkerId[]): Promise<Set<WorkerId>> {
  if (ids.length === 0) return new Set();
  const result = await db.query<{ id: WorkerId }>(
    `select id from workers where id = any($1::text[]) and phase <> 'EXITED'`,
    [ids],
  );
  return new Set(result.rows.map(({ id }) => id));
}
