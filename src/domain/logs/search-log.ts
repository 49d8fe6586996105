import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/pool.ts';
import type { LogEntry } from './log-line.ts';
import { findLogWindow, LAST_SEQ, type LogScope } from './log-scope.ts';
import { bytesOf, type LogFilter, readPortion } from './read-log.ts';

/** One search reads at most about this much of the log, or for this long; the next one continues. */
export const MAX_SEARCHED_BYTES = 16 * 2 ** 20;
const MAX_SEARCH_MS = 1_000;
/** A page ends with the line that brings its text to this. */
export const MAX_PAGE_BYTES = 4 * 2 ** 20;
/** The first portion is small: most searches find what they want among the newest lines. */
const FIRST_PORTION = 500;
const MAX_PORTION = 8_000;

export interface LogSearch {
  scope: LogScope;
  filter: LogFilter;
  order: 'oldest' | 'newest';
  /** Exclusive: only lines stored after, or before, these. */
  after?: number;
  before?: number;
  limit: number;
}

export interface LogPage {
  /** In the order asked for. */
  lines: LogEntry[];
  /** The line behind which the next page begins; null at the end of the log. */
  next: { seq: number; ts: Date } | null;
  /** True if the search stopped before it had found `limit` lines: it had read, or found, enough for one request. */
  isStopped: boolean;
}

/** Returns lines of a log that match, and where to continue. The work of one call is bounded, whatever the log's size. */
export async function searchLog({ db, clock }: { db: Db; clock: Clock }, search: LogSearch): Promise<LogPage> {
  const startedAtMs = clock.now();
  const { scope, filter, order, limit } = search;
  const window = await findLogWindow(db, scope, filter);
  let after = Math.max(search.after ?? 0, window.after);
  let before = Math.min(search.before ?? LAST_SEQ, window.before);
  let size = FIRST_PORTION;
  let bytes = 0;
  let bytesLeft = MAX_PAGE_BYTES;
  const lines: LogEntry[] = [];
  for (;;) {
    const range = { filter, order, after, before, size, limit: limit - lines.length, maxBytes: bytesLeft };
    const { end, hasMore, ...portion } = await readPortion(db, scope, range);
    lines.push(...portion.lines);
    if (!hasMore || end === null) return { lines, next: null, isStopped: false };
    if (lines.length === limit) return { lines, next: end, isStopped: false };
    bytes += portion.bytes;
    bytesLeft -= bytesOf(portion.lines);
    if (bytesLeft <= 0 || bytes >= MAX_SEARCHED_BYTES || clock.now() - startedAtMs >= MAX_SEARCH_MS) {
      return { lines, next: end, isStopped: true };
    }
    if (order === 'newest') before = end.seq;
    else after = end.seq;
    size = nextSize(portion, MAX_SEARCHED_BYTES - bytes);
  }
}

/** Returns how many lines are read next: as many as are cheap in one statement, if they are as long as the last ones. */
function nextSize({ count, bytes }: { count: number; bytes: number }, bytesLeft: number): number {
  const fitting = Math.floor((bytesLeft * count) / Math.max(bytes, 1));
  return Math.max(FIRST_PORTION, Math.min(MAX_PORTION, fitting));
}
