import type { Db } from '../../db/pool.ts';
import { type LogLevel, levelNumber, levelOfNumber } from './log-level.ts';
import type { LogEntry, LogSource } from './log-line.ts';
import { LAST_SEQ, type LogScope, type LogWindow, workloadsOf } from './log-scope.ts';

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
  /** What was found, in the order of reading. */
  lines: LogEntry[];
  /** The last line that was read, found or not; null if the part has no more lines. */
  end: { seq: number; ts: Date } | null;
  /** True if there are more lines behind `end`. */
  hasMore: boolean;
  /** What was read. */
  bytes: number;
  count: number;
}

interface LogRange {
  filter: LogFilter;
  order: 'oldest' | 'newest';
  /** Only lines with `after < seq < before`. */
  after?: number;
  before?: number;
  /** Lines to read of each workload. */
  perWorkload: number;
  /** Lines to find. */
  limit: number;
}

interface PortionRow {
  count: number;
  bytes: number;
  edge: number | null;
  endSeq: number | null;
  endTs: Date | null;
  seq: number | null;
  workloadId: string;
  ts: Date;
  source: LogSource;
  line: string;
  level: number | null;
}

/**
 * The first or last lines of each workload, merged up to the edge: the nearest line beyond which one of them has more. All
 * reads are ranges of the primary key (workload_id, seq), so the work does not depend on the rest of the log.
 */
function statement(workloads: string, order: LogRange['order']): string {
  const isNewest = order === 'newest';
  const [direction, far, near, inside] = isNewest ? ['desc', 'min', 'max', '>='] : ['asc', 'max', 'min', '<='];
  return `
    with portion as materialized (
      select l.* from (${workloads}) w cross join lateral (
        select seq, workload_id, ts, source, line, level from log_lines
        where workload_id = w.id and seq > greatest(w.lo, $2::int8) and seq < least(w.hi, $3::int8)
        order by seq ${direction} limit $4) l
    ),
    edge as (
      select ${near}(last) as seq
      from (select ${far}(seq) as last from portion group by workload_id having count(*) = $4) as full_portions
    ),
    whole as (select portion.* from portion, edge where edge.seq is null or portion.seq ${inside} edge.seq),
    found as (
      select * from whole
      where ($6::text is null or source = $6) and ($7::int is null or level >= $7)
        and ($8::text is null or strpos(lower(line), lower($8)) > 0)
        and ($9::timestamptz is null or ts >= $9) and ($10::timestamptz is null or ts > $10)
        and ($11::timestamptz is null or ts < $11)
      order by seq ${direction} limit $5
    ),
    last as (select seq, ts from whole order by seq ${isNewest ? 'asc' : 'desc'} limit 1),
    total as (select count(*) as count, coalesce(sum(octet_length(line)), 0)::int8 as bytes from whole)
    select total.count, total.bytes, edge.seq as edge, last.seq as "endSeq", last.ts as "endTs",
           f.seq, f.workload_id as "workloadId", f.ts, f.source, f.line, f.level
    from total cross join edge left join last on true left join found f on true
    order by f.seq ${direction}`;
}

/** Reads parts of logs that `findLogWindows` found. */
export function readWindows(db: Db, windows: readonly LogWindow[], range: LogRange): Promise<LogPortion> {
  const workloads = `select w->>'id' as id, (w->>'lo')::int8 as lo, (w->>'hi')::int8 as hi
                     from jsonb_array_elements($1::text::jsonb) as w`;
  return read(db, workloads, JSON.stringify(windows), range);
}

/** An ended worker's last lines are stored within minutes. */
const RECENT = "interval '1 hour'";

/** Reads logs that are still written. A worker is in the same snapshot as its lines, so none of a new one is missed. */
export function readLive(db: Db, scope: LogScope, range: LogRange): Promise<LogPortion> {
  const { sql, id } = workloadsOf(scope);
  const workloads = `select id, 0::int8 as lo, ${LAST_SEQ}::int8 as hi from (${sql}) s
                     where exited_at is null or exited_at > now() - ${RECENT}`;
  return read(db, workloads, id, range);
}

async function read(db: Db, workloads: string, subject: string, range: LogRange): Promise<LogPortion> {
  const { filter, order, after = 0, before = LAST_SEQ, perWorkload, limit } = range;
  const { source, level, search, since, until } = filter;
  const { rows } = await db.query<PortionRow>(statement(workloads, order), [
    subject,
    after,
    before,
    perWorkload,
    limit,
    source ?? null,
    level === undefined ? null : levelNumber(level),
    search || null,
    inDatabase(since),
    inDatabase(filter.after),
    inDatabase(until),
  ]);
  const [first] = rows;
  const lines = first!.seq === null ? [] : rows.map(toLine);
  const { count, bytes } = first!;
  const last = lines.at(-1);
  // A full page may have left some of what was read unseen: the next one continues behind its last line.
  if (last && lines.length === limit)
    return { lines, end: { seq: last.seq, ts: last.ts }, hasMore: true, bytes, count };
  const end = first!.endSeq === null ? null : { seq: first!.endSeq, ts: first!.endTs! };
  return { lines, end, hasMore: first!.edge !== null, bytes, count };
}

function toLine({ seq, workloadId, ts, source, line, level }: PortionRow): LogEntry {
  return { seq: seq!, workloadId, ts, source, line, level: levelOfNumber(level) };
}

/** No line is older than 1970; PostgreSQL knows no year 0, which RFC 3339 allows. */
function inDatabase(time: Date | undefined): Date | null {
  return time === undefined ? null : new Date(Math.max(0, time.getTime()));
}
