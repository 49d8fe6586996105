import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import { type LogQuery, lastLogSeq, listLogLines } from './list-log-lines.ts';
import type { LogPosition, LogSource, StoredLogLine } from './log-line.ts';

const BATCH = 500;

/** Where a log stream starts: with the last `tail` lines, at a time (inclusive), or after a position. */
export type LogStart = { tail: number } | { since: Date } | LogPosition;

/**
 * Yields stored lines, then new ones as they are stored, in batches, until `signal` aborts. The first batch comes at once,
 * even if empty. A later empty batch means that nothing came for `quietMs`; then the table is polled, because a hint may be
 * lost. Neither loses nor repeats a line, provided that a workload's lines have one writer at a time. Reads only as fast as
 * its consumer.
 */
export async function* followLog(
  sources: { db: Db; bus: Pick<Bus, 'subscribe'> },
  options: { workloadId: string; start: LogStart; source: LogSource | undefined; quietMs: number; signal: AbortSignal },
): AsyncGenerator<StoredLogLine[]> {
  const { workloadId, start, source, quietMs, signal } = options;
  const filter = { workloadId, ...(source === undefined ? {} : { source }) };
  const bell = new Bell();
  const unsubscribe = sources.bus.subscribe('log', (id) => id === workloadId && bell.ring());
  const onAbort = () => bell.ring();
  signal.addEventListener('abort', onAbort);
  try {
    let next: LogQuery = { ...filter, ...start, limit: BATCH };
    if ('tail' in start) {
      // The last sequence is taken before the tail: a line stored in between is in the tail or in the next read.
      const lastSeq = await lastLogSeq(sources.db, workloadId);
      const lines = await listLogLines(sources.db, { ...filter, tail: start.tail, limit: start.tail });
      yield lines;
      next = { ...filter, afterSeq: Math.max(lastSeq, lines.at(-1)?.seq ?? 0), limit: BATCH };
    }
    for (let isFirst = !('tail' in start); !signal.aborted; isFirst = false) {
      const lines = await listLogLines(sources.db, next);
      if (lines.length > 0) next = { ...next, afterSeq: lines.at(-1)!.seq };
      if (lines.length > 0 || isFirst) yield lines;
      if (lines.length < BATCH && !(await bell.heard(quietMs))) yield [];
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    unsubscribe();
  }
}

/** Keeps a ring until the next wait, so that a hint during a read is not lost. */
class Bell {
  #hasRung = false;
  #answer: (() => void) | undefined;

  ring(): void {
    this.#hasRung = true;
    this.#answer?.();
  }

  /** Waits for a ring since the last call; false after `timeoutMs`. */
  async heard(timeoutMs: number): Promise<boolean> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#answer = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#answer = undefined;
    }
    const hasRung = this.#hasRung;
    this.#hasRung = false;
    return hasRung;
  }
}
