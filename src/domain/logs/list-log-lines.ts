import type { Db } from '../../db/pool.ts';
import type { LogSource, StoredLogLine } from './log-line.ts';

export interface LogQuery {
  workloadId: string;
  /** Only lines stored after this one. */
  afterSeq?: number;
  /** Only lines from this time on. */
  since?: Date;
  /** Only lines after this time. */
  afterTs?: Date;
  /** Absent: both. */
  source?: LogSource;
  /** Only the last of the matching lines. */
  tail?: number;
  limit: number;
}

/** Returns at most `limit` lines, in the order they were stored. Served by the primary key (workload_id, seq). */
export async function listLogLines(db: Db, query: LogQuery): Promise<StoredLogLine[]> {
  const conditions = ['workload_id = $1'];
  const values: unknown[] = [query.workloadId];
  const where = (condition: string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`${condition} $${values.length}`);
  };
  where('seq >', query.afterSeq);
  where('ts >=', query.since);
  where('ts >', query.afterTs);
  where('source =', query.source);
  const isTail = query.tail !== undefined;
  values.push(isTail ? Math.min(query.tail!, query.limit) : query.limit);
  const result = await db.query<StoredLogLine>(
    `select seq, ts, source, line from log_lines where ${conditions.join(' and ')}
     order by seq ${isTail ? 'desc' : ''} limit $${values.length}`,
    values,
  );
  return isTail ? result.rows.reverse() : result.rows;
}

/** Returns the sequence number of a workload's last stored line; 0 without lines. */
export async function lastLogSeq(db: Db, workloadId: string): Promise<number> {
  const result = await db.query<{ seq: number }>(
    'select coalesce(max(seq), 0) as seq from log_lines where workload_id = $1',
    [workloadId],
  );
  return result.rows[0]!.seq;
}
