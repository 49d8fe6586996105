import { type Clock, monotonicClock } from '../../core/clock.ts';
import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import { LogBell } from './log-bell.ts';
import type { LogEntry, LogPosition } from './log-line.ts';
import { LAST_SEQ, type LogScope, lastLogSeq } from './log-scope.ts';
import { type LogFilter, readPortion } from './read-log.ts';
import { type LogPage, type LogSearch, MAX_PAGE_BYTES, searchLog } from './search-log.ts';

const BATCH = 500;

/** Where a log stream starts: with the last `tail` lines, at a time (inclusive), or after a position. */
export type LogStart = { tail: number } | { since: Date } | LogPosition;

export interface LogBatch {
  lines: LogEntry[];
  /** Set where a search for the last lines stopped before it found `tail` of them: older lines were not searched. */
  stoppedAt?: { seq: number; ts: Date };
}

interface FollowOptions {
  scope: LogScope;
  start: LogStart;
  filter: LogFilter;
  quietMs: number;
  signal: AbortSignal;
}

/**
 * Yields stored lines, then new ones as they are stored, in batches, until `signal` aborts. The first batch is empty: what is
 * stored from then on is new. A later empty one means that nothing came for `quietMs`, or that a long search continues; then
 * the table is polled, because a hint may be lost. Neither loses nor repeats a line, provided that lines have one writer at a
 * time. Reads only as fast as its consumer. `search`: how stored lines are searched.
 */
export async function* followLog(
  sources: { db: Db; bus: Pick<Bus, 'subscribe'>; clock?: Clock; search?: typeof searchLog },
  { scope, start, filter, quietMs, signal }: FollowOptions,
): AsyncGenerator<LogBatch> {
  const { db, clock = monotonicClock, search: find = searchLog } = sources;
  const bell = new LogBell({ ...sources, scope, signal });
  try {
    // Taken first: a line stored in between has a higher sequence, and comes with the next read.
    let position = 'afterSeq' in start ? start.afterSeq : await lastLogSeq(db, scope);
    yield { lines: [] };
    if (!('afterSeq' in start)) {
      const search = { scope, filter: { ...filter, ...timeOf(start) }, before: position + 1 };
      if ('tail' in start) yield toBatch(await find({ db, clock }, { ...search, order: 'newest', limit: start.tail }));
      else yield* readOn((part) => find({ db, clock }, part), search, signal);
    }
    const live = {
      filter,
      order: 'oldest',
      before: LAST_SEQ,
      size: BATCH,
      limit: BATCH,
      maxBytes: MAX_PAGE_BYTES,
    } as const;
    while (!signal.aborted) {
      const { lines, end, hasMore } = await readPortion(db, scope, { ...live, after: position });
      position = end?.seq ?? position;
      if (lines.length > 0) yield { lines };
      if (!hasMore && !(await bell.heard(quietMs))) yield { lines: [] };
    }
  } finally {
    bell.close();
  }
}

/** Yields all lines of a range, oldest first, in batches; an empty one after a part of the log without any. */
async function* readOn(
  find: (search: LogSearch) => Promise<LogPage>,
  search: { scope: LogScope; filter: LogFilter; before: number },
  signal: AbortSignal,
): AsyncGenerator<LogBatch> {
  for (let after = 0; !signal.aborted; ) {
    const { lines, next } = await find({ ...search, after, order: 'oldest', limit: BATCH });
    yield { lines };
    if (next === null) return;
    after = next.seq;
  }
}

function timeOf(start: { tail: number } | { since: Date } | { afterTs: Date }): LogFilter {
  if ('tail' in start) return {};
  return 'since' in start ? { since: start.since } : { since: start.afterTs, after: start.afterTs };
}

function toBatch({ lines, next, isStopped }: LogPage): LogBatch {
  return { lines: lines.toReversed(), ...(isStopped && next ? { stoppedAt: next } : {}) };
}
