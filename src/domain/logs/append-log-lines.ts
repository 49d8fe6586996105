import { bigintArray, textArray } from '../../db/arrays.ts';
import type { Db } from '../../db/pool.ts';
import { type LogLevel, levelNumber } from './log-level.ts';
import type { LogSource } from './log-line.ts';

export interface NewLogLine {
  workloadId: string;
  ts: Date;
  source: LogSource;
  line: string;
  /** Null: none was recognized. */
  level?: LogLevel | null;
}

/**
 * Stores lines in the given order, all or none. `usage`: the bytes that they count for their users today. The caller
 * publishes the `log` hints afterwards. The newest segment notes how late its lines are, for searches by time.
 */
export async function appendLogLines(
  db: Db,
  lines: readonly NewLogLine[],
  usage: ReadonlyMap<string, number> = new Map(),
): Promise<void> {
  if (lines.length === 0) return;
  // `with ordinality` keeps the sequence numbers in the lines' order.
  await db.query(
    `with counted as (
       insert into log_usage as u (user_id, day, bytes)
       select user_id, (now() at time zone 'UTC')::date, bytes from unnest($5::text[], $6::bigint[]) as used (user_id, bytes)
       order by user_id
       on conflict (user_id, day) do update set bytes = u.bytes + excluded.bytes
     ), late as (
       update log_segments set late_ms = given.ms
       from (select ceil(extract(epoch from now()) * 1000)::int8 - min(ts) as ms from unnest($2::bigint[]) as ts) as given
       where end_seq = (select max(end_seq) from log_segments) and late_ms < given.ms
     )
     insert into log_lines (workload_id, endpoint_id, ts, source, line, level)
     select given.workload_id, w.endpoint_id, to_timestamp(given.ts / 1000.0), given.source, given.line, nullif(given.level, 0)
     from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $7::int8[]) with ordinality
       as given (workload_id, ts, source, line, level, position)
     left join workers w on w.id = given.workload_id
     order by given.position`,
    [
      textArray(lines.map((line) => line.workloadId)),
      bigintArray(lines.map((line) => line.ts.getTime())),
      textArray(lines.map((line) => line.source)),
      textArray(lines.map((line) => line.line.replaceAll('\0', '\ufffd'))), // PostgreSQL's text cannot hold NUL
      textArray([...usage.keys()]),
      bigintArray([...usage.values()]),
      bigintArray(lines.map(({ level }) => (level ? levelNumber(level) : 0))),
    ],
  );
}
