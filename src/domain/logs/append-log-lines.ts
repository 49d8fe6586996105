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
 * publishes the `log` hints afterwards.
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
     )
     insert into log_lines (workload_id, ts, source, line, level)
     select workload_id, to_timestamp(ts / 1000.0), source, line, nullif(level, 0)
     from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $7::int8[]) with ordinality
       as given (workload_id, ts, source, line, level, position)
     order by position`,
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
