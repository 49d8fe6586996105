import type { Db } from '../../db/pool.ts';

/** How far a workload's output is stored: the time of its last line, and how many lines have that time. */
export interface LastStored {
  ts: Date;
  seen: number;
}

/**
 * Workloads without stored lines are missing from the result. Reads the last second of each log: lines of a container are
 * stored in the order of their times, but for those that its two outputs wrote at the same moment.
 */
export async function findLastStored(db: Db, workloadIds: readonly string[]): Promise<Map<string, LastStored>> {
  const result = await db.query<LastStored & { id: string }>({
    name: 'log-last-stored',
    text: `select w.id, last.ts, same.seen from unnest($1::text[]) as w(id)
           cross join lateral (
             select max(ts) as ts from (
               select ts from log_lines where workload_id = w.id and source = 'container' order by seq desc limit 100) as l
           ) as last
           cross join lateral (
             select count(*) as seen from log_lines
             where workload_id = w.id and source = 'container' and ts = last.ts and seq > coalesce((
               select seq from log_lines
               where workload_id = w.id and source = 'container' and ts < last.ts - interval '1 second'
               order by seq desc limit 1), 0)
           ) as same
           where last.ts is not null`,
    values: [workloadIds],
  });
  return new Map(result.rows.map(({ id, ...last }) => [id, last]));
}
