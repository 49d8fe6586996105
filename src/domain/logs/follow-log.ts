import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import { type LogQuery, lastLogSeq, listLogLines } from './list-log-lines.ts';
import type { LogPosition, LogSource, StoredLogLine } from './log-line.ts';

const BATCH = 500;

/** Where a stream of a log begins: the last so many lines, a time (that included), or after what was seen before. */
export type LogStart = { tail: number } | { since: Date } | LogPosition;

/**
 * Answers stored lines and then new ones as they are stored, in batches, until `signal` aborts. The first batch comes at
 * once, even if it is empty: a line stored after it is new. A later empty batch says that nothing came for `quietMs`; the table is read again then, because a hint may be lost. It neither loses nor repeats a
 * line as long as the lines of one workload are stored by one writer at a time, and reads no further than its consumer.
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

/** Remembers one ring until somebody asks, so that a hint that comes during a read is not lost. */
class Bell {
  #hasRung = false;
  #answer: (() => void) | undefined;

  ring(): void {
    this.#hasRung = true;
    this.#answer?.();
  }

  /** True as soon as it has rung since the last call, false after `timeoutMs`. */
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
