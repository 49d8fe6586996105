import type { Db } from '../../db/pool.ts';
import { type LogSegment, listLogSegments } from './log-segments.ts';

/** Whose lines are read: those of one worker or pod, or of all workers of an endpoint together. */
export type LogScope = { workloadId: string } | { endpointId: string };

/** A part of a log: its lines with `after < seq < before`. */
export interface LogWindow {
  after: number;
  before: number;
}

/** Above every sequence number. */
export const LAST_SEQ = Number.MAX_SAFE_INTEGER;
/** How far clocks of machines may differ. */
const SKEW_MS = 60_000;
/** A bisection ends at this many numbers; the rest is read. */
const NEAR = 512;

/** Returns the column that names a scope's lines, and its value. Each has an index with `seq`. */
export function columnOf(scope: LogScope): { column: string; id: string } {
  return 'workloadId' in scope
    ? { column: 'workload_id', id: scope.workloadId }
    : { column: 'endpoint_id', id: scope.endpointId };
}

/** Returns the sequence number of a scope's last stored line; 0 without lines. */
export async function lastLogSeq(db: Db, scope: LogScope): Promise<number> {
  const { column, id } = columnOf(scope);
  const result = await db.query<{ seq: number }>(
    `select seq from log_lines where ${column} = $1 order by seq desc limit 1`,
    [id],
  );
  return result.rows[0]?.seq ?? 0;
}

/**
 * Returns the part of a scope's log that holds all lines of a time range, and little else. There is no index on times: lines
 * are stored in the order of `stored_at`, so the log is bisected along its index, within the segment of that time. Lines may
 * be stored long after they were written, if nothing read them meanwhile; each segment knows how long.
 */
export async function findLogWindow(
  db: Db,
  scope: LogScope,
  { since, until }: { since?: Date | undefined; until?: Date | undefined },
): Promise<LogWindow> {
  const window = { after: 0, before: LAST_SEQ };
  if (since === undefined && until === undefined) return window;
  const segments = await listLogSegments(db);
  if (since !== undefined) {
    window.after = (await bisect(db, scope, segments, since.getTime() - SKEW_MS)).after;
  }
  if (until !== undefined) {
    const storedUntil = until.getTime() + latestOf(segments, until.getTime()) + SKEW_MS;
    window.before = (await bisect(db, scope, segments, storedUntil)).before;
  }
  return window;
}

/** Returns the largest delay with which lines before a time were stored, ms. */
function latestOf(segments: readonly LogSegment[], untilMs: number): number {
  const candidates = segments.filter(({ begunAt, lateMs }) => begunAt.getTime() < untilMs + lateMs + SKEW_MS);
  return Math.max(0, ...candidates.map(({ lateMs }) => lateMs));
}

/** Returns numbers near the time: lines up to `after` were stored before it, lines from `before` on were not. */
async function bisect(db: Db, scope: LogScope, segments: readonly LogSegment[], atMs: number): Promise<LogWindow> {
  const index = Math.max(
    0,
    segments.findLastIndex(({ begunAt }) => begunAt.getTime() <= atMs),
  );
  const { firstSeq, endSeq } = segments[index]!;
  const { column, id } = columnOf(scope);
  const { rows } = await db.query<LogWindow>(
    `with recursive bisect (after, before) as (
       select $2::int8, $3::int8
       union all
       select case when probe.is_early then probe.seq else b.after end,
              case when probe.is_early then b.before else (b.after + b.before) / 2 + 1 end
       from bisect b
       left join lateral (
         select seq, stored_at < $4 as is_early from log_lines
         where ${column} = $1 and seq > (b.after + b.before) / 2 and seq < b.before order by seq limit 1
       ) probe on true
       where b.before - b.after > ${NEAR}
     )
     select max(after) as after, min(before) as before from bisect`,
    [id, firstSeq - 1, endSeq, new Date(Math.max(0, atMs))],
  );
  return rows[0]!;
}
