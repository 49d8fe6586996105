import type { LogLevel } from './log-filter.ts';

export interface LogLine {
  /** Position in the log, the same in a stream and in a page. */
  id: string;
  workerId: string | null;
  source: 'container' | 'system';
  level: LogLevel | null;
  line: string;
  ts: string;
}

/** Lines that a followed log keeps; older ones are dropped, and can be loaded again. */
export const MAX_LINES = 5_000;
/** Lines that a log keeps which the reader paused or scrolled up: they must not move away. */
const MAX_HELD_LINES = 50_000;

interface LogSnapshot {
  lines: readonly LogLine[];
  /** Lines that arrived since the pause, and are not shown. */
  waiting: number;
}

/**
 * The lines of a log view, for `useSyncExternalStore`. Lines arrive one by one, at thousands a second perhaps; views see them in
 * batches, when `flush` is called.
 */
export class LogBuffer {
  readonly #listeners = new Set<() => void>();
  #arrived: LogLine[] = [];
  readonly #maxLines: number | undefined;
  #isPaused = false;
  #isFollowed = true;
  #olderLines = 0;
  #snapshot: LogSnapshot = { lines: [], waiting: 0 };

  /** `maxLines`: kept whether the end is followed or not, for a log whose older lines cannot be loaded again. */
  constructor(maxLines?: number) {
    this.#maxLines = maxLines;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): LogSnapshot => this.#snapshot;

  /** Adds a line behind the last one; it is shown with the next flush. */
  add(line: LogLine): void {
    this.#arrived.push(line);
    if (this.#arrived.length > (this.#maxLines ?? MAX_HELD_LINES)) this.#arrived.shift();
  }

  /** Shows what has arrived, or while paused how much. Returns whether anything changed. */
  flush(): boolean {
    const { lines, waiting } = this.#snapshot;
    if (this.#isPaused) {
      if (this.#arrived.length === waiting) return false;
      this.#set({ lines, waiting: this.#arrived.length });
      return true;
    }
    if (this.#arrived.length === 0 && waiting === 0) return false;
    const all = [...lines, ...this.#arrived];
    this.#arrived = [];
    const kept = this.#maxLines ?? (this.#isFollowed ? MAX_LINES + this.#olderLines : MAX_HELD_LINES);
    this.#set({ lines: all.length > kept ? all.slice(-kept) : all, waiting: 0 });
    return true;
  }

  /** Puts older lines before the first one. They are kept as long as the log is not replaced. */
  prepend(older: readonly LogLine[]): void {
    this.#olderLines += older.length;
    this.#set({ ...this.#snapshot, lines: [...older, ...this.#snapshot.lines] });
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.flush();
  }

  /** Says whether the reader sees the end: only then may lines at the beginning go. */
  follow(isFollowed: boolean): void {
    this.#isFollowed = isFollowed;
  }

  clear(): void {
    this.#arrived = [];
    this.#olderLines = 0;
    this.#set({ lines: [], waiting: 0 });
  }

  #set(snapshot: LogSnapshot): void {
    this.#snapshot = snapshot;
    for (const listener of this.#listeners) listener();
  }
}
