import type { Db } from '../../db/pool.ts';

/** How far a workload's output is stored: the time of its last line, and how many lines have that time. */
export interface LastStored {
  ts: Date;
  seen: number;
}

/** Workloads without stored lines are missing from the result. */
export async function findLastStored(db: Db, workloadIds: readonly string[]): Promise<Map<string, LastStored>> {
  const result = await db.query<LastStored & { id: string }>({
    name: 'log-last-stored',
    text: `select w.id, l.ts, l.seen from unnest($1::text[]) as w(id)
           cross join lateral (
             select ts, count(*) as seen from log_lines where workload_id = w.id and source = 'container'
             group by ts order by ts desc limit 1) l`,
    values: [workloadIds],
  });
  return new Map(result.rows.map(({ id, ...last }) => [id, last]));
}
