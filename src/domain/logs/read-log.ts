import type { Db } from '../../db/pool.ts';
import { type LogLevel, levelNumber, levelOfNumber } from './log-level.ts';
import type { LogEntry, LogSource } from './log-line.ts';
import { columnOf, type LogScope, type LogWindow } from './log-scope.ts';

/** Which lines of a log are wanted. Absent: all. */
export interface LogFilter {
  source?: LogSource | undefined;
  /** This level or a more severe one. */
  level?: LogLevel | undefined;
  /** Text that a line contains, in any case. */
  search?: string | undefined;
  /** Written at or after this time. */
  since?: Date | undefined;
  /** Written after this time. */
  after?: Date | undefined;
  /** Written before this time. */
  until?: Date | undefined;
}

/** A part of a log, read in one statement. */
export interface LogPortion {
  /** Lines that were found, in the order of reading. */
  lines: LogEntry[];
  /** Where to read on: behind the last line that was read, or was found if no more were wanted. Null: nothing is there. */
  end: { seq: number; ts: Date } | null;
  /** True if there may be more lines behind `end`. */
  hasMore: boolean;
  /** Bytes that were read. */
  bytes: number;
  count: number;
}

interface LogRange extends LogWindow {
  filter: LogFilter;
  order: 'oldest' | 'newest';
  /** Lines to read. */
  size: number;
  /** Lines to find. */
  limit: number;
  /** Bytes of text to find: no line is added once there are as many. */
  maxBytes: number;
}

interface PortionRow {
  count: number;
  bytes: number;
  endSeq: number | null;
  endTs: Date | null;
  seq: number | null;
  workloadId: string;
  ts: Date;
  source: LogSource;
  line: string;
  level: number | null;
}

/** The first or last lines of a range, read along an index: the work does not depend on the rest of the log. */
function statement(column: string, order: LogRange['order']): string {
  const [direction, opposite] = order === 'newest' ? ['desc', 'asc'] : ['asc', 'desc'];
  return `
    with portion as materialized (
      select seq, workload_id, ts, source, line, level from log_lines
      where ${column} = $1 and seq > $2::int8 and seq < $3::int8
      order by seq ${direction} limit $4
    ),
    matching as (
      select *, sum(octet_length(line)) over (order by seq ${direction}) - octet_length(line) as "bytesBefore" from portion
      where ($6::text is null or source = $6) and ($7::int is null or level >= $7)
        and ($8::text is null or strpos(lower(line), lower($8)) > 0)
        and ($9::timestamptz is null or ts >= $9) and ($10::timestamptz is null or ts > $10)
        and ($11::timestamptz is null or ts < $11)
    ),
    found as (select * from matching where "bytesBefore" < $12::int8 order by seq ${direction} limit $5),
    last as (select seq, ts from portion order by seq ${opposite} limit 1),
    total as (select count(*) as count, coalesce(sum(octet_length(line)), 0)::int8 as bytes from portion)
    select total.count, total.bytes, last.seq as "endSeq", last.ts as "endTs",
           f.seq, f.workload_id as "workloadId", f.ts, f.source, f.line, f.level
    from total left join last on true left join found f on true
    order by f.seq ${direction}`;
}

/** Reads a part of a log. */
export async function readPortion(db: Db, scope: LogScope, range: LogRange): Promise<LogPortion> {
  const { filter, order, after, before, size, limit, maxBytes } = range;
  const { source, level, search, since, until } = filter;
  const { column, id } = columnOf(scope);
  const { rows } = await db.query<PortionRow>(statement(column, order), [
    id,
    after,
    before,
    size,
    limit,
    source ?? null,
    level === undefined ? null : levelNumber(level),
    search || null,
    inDatabase(since),
    inDatabase(filter.after),
    inDatabase(until),
    maxBytes,
  ]);
  const { count, bytes, endSeq, endTs, seq } = rows[0]!;
  const lines = seq === null ? [] : rows.map(toLine);
  if (endSeq === null) return { lines, end: null, hasMore: false, bytes, count };
  const last = lines.at(-1);
  // A full page may have left some of what was read unseen: the next one continues behind its last line.
  const isFull = last !== undefined && (lines.length === limit || bytesOf(lines) >= maxBytes) && last.seq !== endSeq;
  const end = isFull ? { seq: last.seq, ts: last.ts } : { seq: endSeq, ts: endTs! };
  return { lines, end, hasMore: isFull || count === size, bytes, count };
}

/** Returns how many bytes of text lines have. */
export function bytesOf(lines: readonly LogEntry[]): number {
  return lines.reduce((sum, { line }) => sum + Buffer.byteLength(line), 0);
}

function toLine({ seq, workloadId, ts, source, line, level }: PortionRow): LogEntry {
  return { seq: seq!, workloadId, ts, source, line, level: levelOfNumber(level) };
}

/** No line is older than 1970; PostgreSQL knows no year 0, which RFC 3339 allows. */
function inDatabase(time: Date | undefined): Date | null {
  return time === undefined ? null : new Date(Math.max(0, time.getTime()));
}
