import type { Db } from '../../db/pool.ts';

/**
 * Returns how many workers must stay when nodes are drained, by endpoint: half of `workers.min`, rounded up, of those that
 * always have at least two. Others may lose their workers: they have one, or none without work.
 */
export async function listGuardedEndpoints(db: Db): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; workers: number }>(
    'select id, (workers_min + 1) / 2 as workers from endpoints where workers_min >= 2 and workers_max >= 2',
  );
  return new Map(rows.map(({ id, workers }) => [id, workers]));
}
