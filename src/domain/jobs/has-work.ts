import type { Db } from '../../db/pool.ts';

/** SQL: true while there is a job, or a worker that has not ended. */
export const HAS_WORK = "exists (select from jobs) or exists (select from workers where phase <> 'EXITED')";

/** Returns false at rest, when housekeeping may take its time. */
export async function hasWork(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ hasWork: boolean }>({
    name: 'is-working',
    text: `select ${HAS_WORK} as "hasWork"`,
  });
  return rows[0]!.hasWork;
}
