import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/pool.ts';
import type { LogEntry } from './log-line.ts';
import { findLogWindows, LAST_SEQ, type LogScope, type LogWindow } from './log-scope.ts';
import { type LogFilter, type LogPortion, readWindows } from './read-log.ts';

/** One search reads at most about this much of the log, or for this long; the next one continues. */
export const MAX_SEARCHED_BYTES = 16 * 2 ** 20;
const MAX_SEARCH_MS = 1_000;
/** The first portion is small: most searches find what they want among the newest lines. */
const FIRST_PORTION = 500;
const MAX_PORTION = 8_000;
/** Of more workloads than this, each statement reads a range of sequence numbers: most of them have no lines there. */
const FEW = 4;
/** How much wider or narrower one range may be than the one before. */
const STEP = 8;

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
  /** True if the search stopped before it had found `limit` lines: it had read enough for one request. */
  isStopped: boolean;
}

/** Returns lines of a log that match, and where to continue. The work of one call is bounded, whatever the log's size. */
export async function searchLog({ db, clock }: { db: Db; clock: Clock }, search: LogSearch): Promise<LogPage> {
  const startedAtMs = clock.now();
  const { scope, filter, order, limit } = search;
  const windows = await findLogWindows(db, scope, { since: filter.since, until: filter.until });
  const scan = new LogScan(search, windows);
  const lines: LogEntry[] = [];
  let end: LogPage['next'] = null;
  while (lines.length < limit && !scan.isAtEnd) {
    const portion = await readWindows(db, windows, { filter, order, ...scan.next(), limit: limit - lines.length });
    lines.push(...portion.lines);
    scan.advance(portion);
    end = portion.end ?? end;
    const isLong = scan.bytes >= MAX_SEARCHED_BYTES || clock.now() - startedAtMs >= MAX_SEARCH_MS;
    if (isLong && end !== null) break;
  }
  const next = scan.isAtEnd || end === null ? null : { seq: scan.position, ts: end.ts };
  return { lines, next, isStopped: next !== null && lines.length < limit };
}

/** Where a search is, and how much it reads next: as many lines as are cheap in one statement. */
class LogScan {
  /** What was read so far. */
  bytes = 0;
  /** Exclusive: lines beyond it are still to be read. */
  position: number;
  isAtEnd: boolean;
  readonly #isNewest: boolean;
  readonly #workloads: number;
  /** Exclusive: where the log ends in the direction of reading. */
  readonly #last: number;
  #span: number;
  #portion = FIRST_PORTION;

  constructor({ order, after = 0, before = LAST_SEQ }: LogSearch, windows: readonly LogWindow[]) {
    const lo = windows.reduce((least, window) => Math.min(least, window.lo), LAST_SEQ);
    const hi = windows.reduce((most, window) => Math.max(most, window.hi), 0);
    const [first, last] = [Math.max(after, lo), Math.min(before, hi)];
    this.#isNewest = order === 'newest';
    this.position = this.#isNewest ? last : first;
    this.#last = this.#isNewest ? first : last;
    this.isAtEnd = last - first < 2;
    this.#workloads = windows.length;
    this.#span = windows.length > FEW ? 4 * FIRST_PORTION : LAST_SEQ;
  }

  /** Returns the range of the next statement. */
  next(): { after: number; before: number; perWorkload: number } {
    const far = this.#far();
    const [after, before] = this.#isNewest ? [far, this.position] : [this.position, far];
    const perWorkload = this.#workloads > FEW ? this.#portion : Math.ceil(this.#portion / Math.max(1, this.#workloads));
    return { after, before, perWorkload };
  }

  advance({ end, hasMore, count, bytes }: LogPortion): void {
    this.bytes += bytes;
    const far = this.#far();
    const before = this.position;
    // What is short of its limits is complete up to its far end, which is itself still to be read.
    this.position = hasMore && end !== null ? end.seq : this.#isNewest ? far + 1 : far - 1;
    this.isAtEnd = Math.abs(this.#last - this.position) < 2;
    if (count === 0) {
      this.#span *= STEP;
      return;
    }
    const bytesLeft = Math.max(0, MAX_SEARCHED_BYTES - this.bytes);
    this.#portion = Math.max(
      FIRST_PORTION,
      Math.floor(Math.min(MAX_PORTION, (bytesLeft * count) / Math.max(bytes, 1))),
    );
    const wanted = (this.#portion * Math.max(1, Math.abs(before - this.position))) / count;
    if (this.#workloads > FEW) this.#span = Math.min(this.#span * STEP, Math.max(this.#portion, Math.ceil(wanted)));
  }

  #far(): number {
    const far = this.#isNewest ? this.position - this.#span : this.position + this.#span;
    return this.#isNewest ? Math.max(far, this.#last) : Math.min(far, this.#last);
  }
}
