/**
 * The output of a workload, whose processes write straight into a file so that nothing is lost while Podyard is down.
 * The file holds bytes without times: an index beside it records up to which offset bytes were first seen when. Records
 * never change, which makes a resume by time exact. Everything here is synchronous and short, so that two readers never
 * see half a change.
 */
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type Clock, systemClock } from '../../core/clock.ts';
import type { LogLine, LogsOptions } from '../runtime.ts';

const CHUNK_BYTES = 64 * 1024;
/** `last` reads this much of the end. */
const LAST_BYTES = 64 * 1024;
/** Longer lines are returned in pieces: a program that never ends a line must not fill the memory. */
const MAX_LINE_BYTES = 256 * 1024;
/** How long new bytes may wait for their time while a workload prints without pause. */
const REFRESH_PAUSE_MS = 10;

/** Bytes before `end`, and not before the previous mark's end, were first seen at `ms`. Both ascend. */
interface Mark {
  end: number;
  ms: number;
}

export class OutputLog {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #path: string;
  readonly #indexPath: string;
  readonly #maxBytes: number;
  #marks: Mark[] = [];
  #indexBytes = 0;
  /** Incremented when the file is emptied, which makes readers' positions invalid. */
  #generation = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiters = new Set<() => void>();

  /** `path` may not exist yet. Beyond `maxBytes` the file is emptied, leaving a line that says so. `onError` gets what fails. */
  constructor(
    path: string,
    maxBytes: number,
    { clock = systemClock, onError = () => {} }: { clock?: Clock; onError?: (error: unknown) => void } = {},
  ) {
    this.#clock = clock;
    this.#onError = onError;
    this.#path = path;
    this.#indexPath = `${path}.index`;
    this.#maxBytes = maxBytes;
    this.refresh();
  }

  /** Call when the file may have grown. Calls in quick succession are merged. */
  changed(): void {
    if (this.#timer) return;
    this.refresh();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.refresh();
    }, REFRESH_PAUSE_MS);
    this.#timer.unref();
  }

  /**
   * Records the time of new bytes and wakes the readers. When the system is short of disk or descriptors, it is done by a
   * later call: meanwhile the log is read as it was, or with times that a restart forgets.
   */
  refresh(): void {
    try {
      this.#refresh();
    } catch (error) {
      this.#onError(error);
    }
    this.wake();
  }

  #refresh(): void {
    const file = statSync(this.#path, { throwIfNoEntry: false });
    if (!file) return;
    this.#readIndex();
    if (file.size > this.#markedBytes) {
      const mark = { end: file.size, ms: Math.max(Math.floor(file.mtimeMs), this.#marks.at(-1)?.ms ?? 0) };
      this.#addMark(mark);
      this.#appendRecord(`${mark.end} ${mark.ms}\n`);
    }
    if (file.size > this.#maxBytes) this.#truncate();
  }

  /** A full disk may take a part of the record, which would garble the next one. */
  #appendRecord(record: string): void {
    try {
      appendFileSync(this.#indexPath, record);
      this.#indexBytes += record.length;
    } catch (error) {
      if (statSync(this.#indexPath, { throwIfNoEntry: false })) truncateSync(this.#indexPath, this.#indexBytes);
      throw error;
    }
  }

  get #markedBytes(): number {
    return this.#marks.at(-1)?.end ?? 0;
  }

  #addMark(mark: Mark): void {
    const last = this.#marks.at(-1);
    if (last?.ms === mark.ms) last.end = mark.end;
    else this.#marks.push(mark);
  }

  /** Lets readers check for new bytes, or for the end of the workload. */
  wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.wake();
  }

  /** See `Runtime.logs`. `isOver` is true once nothing more will be written. */
  async *read(options: LogsOptions, isOver: () => boolean): AsyncGenerator<LogLine> {
    const cursor = new Cursor(options.since?.getTime(), options.seen);
    while (!options.signal.aborted) {
      const isLast = isOver(); // before the last read, or the last lines would be missed
      this.refresh();
      cursor.enter(this.#generation, this.#marks, this.#path);
      for (;;) {
        const lines = cursor.read(this.#path, this.#marks, this.#markedBytes, isLast);
        if (!lines) break;
        for (const line of lines) {
          yield line;
          if (options.signal.aborted) return;
        }
        if (cursor.generation !== this.#generation) cursor.enter(this.#generation, this.#marks, this.#path);
      }
      if (isLast || !options.follow) return;
      await this.#nextChange(options.signal);
    }
  }

  /** Returns the last `count` lines, of the last 64 KiB. stdout and stderr are one file: their order is worth more. */
  last(count: number): string[] {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    const from = Math.max(0, size - LAST_BYTES);
    const lines = readAt(this.#path, from, size - from)
      .toString('utf8')
      .split('\n');
    if (from > 0) lines.shift(); // the end of a line
    if (lines.at(-1) === '') lines.pop();
    return lines.slice(-count);
  }

  /** Another Podyard process may have written to the index, or truncated both files. */
  #readIndex(): void {
    const size = statSync(this.#indexPath, { throwIfNoEntry: false })?.size ?? 0;
    if (size === this.#indexBytes) return;
    const records = readFileSync(this.#indexPath, 'latin1').split('\n');
    if (size < this.#indexBytes) this.#generation += 1;
    this.#marks = [];
    for (const record of records) {
      const [end, ms] = record.split(' ').map(Number);
      const last = this.#marks.at(-1);
      if (ms !== undefined && (!last || (end! > last.end && ms >= last.ms))) this.#addMark({ end: end!, ms });
    }
    this.#indexBytes = size;
  }

  #truncate(): void {
    const ms = Math.max(this.#clock.now(), this.#marks.at(-1)!.ms + 1); // later than every line before: a resume continues here
    truncateSync(this.#path, 0);
    appendFileSync(this.#path, `[podyard] older lines dropped: the log is limited to ${this.#maxBytes} bytes\n`);
    const end = statSync(this.#path).size;
    const record = `${end} ${ms}\n`;
    writeFileSync(this.#indexPath, record);
    this.#marks = [{ end, ms }];
    this.#indexBytes = record.length;
    this.#generation += 1;
  }

  /** The timer covers file systems without events. */
  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, 1000);
      this.#waiters.add(done);
      signal.addEventListener('abort', done);
    });
  }
}

/** A reader's position in the file. */
class Cursor {
  generation = -1;
  readonly #sinceMs: number | undefined;
  #seen: number;
  #position = 0;
  #lineStart = 0;
  #isMidLine = false;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #mark = 0;

  constructor(sinceMs: number | undefined, seen: number | undefined) {
    this.#sinceMs = sinceMs;
    this.#seen = seen ?? Number.POSITIVE_INFINITY;
  }

  /** Finds the start, at first and after a truncation: the first line not before `since`. */
  enter(generation: number, marks: readonly Mark[], path: string): void {
    if (generation === this.generation) return;
    this.generation = generation;
    this.#pending = [];
    this.#pendingBytes = 0;
    const sinceMs = this.#sinceMs ?? 0;
    const index = marks.findIndex((mark) => mark.ms >= sinceMs);
    this.#mark = index === -1 ? marks.length : index;
    this.#position = marks[this.#mark - 1]?.end ?? 0;
    this.#lineStart = this.#position;
    // A line that began before the mark has the time of its beginning, and was returned under that time.
    this.#isMidLine = this.#position > 0 && readAt(path, this.#position - 1, 1).toString() !== '\n';
  }

  /** Returns the lines of the next chunk, or undefined at the end. `isLast` also returns a last line without a line end. */
  read(path: string, marks: readonly Mark[], end: number, isLast: boolean): LogLine[] | undefined {
    const chunk = readAt(path, this.#position, Math.min(CHUNK_BYTES, end - this.#position));
    if (chunk.length === 0) {
      if (!isLast || this.#pendingBytes === 0) return undefined;
      return this.#take(marks);
    }
    const lines: LogLine[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#add(chunk.subarray(from, at));
      lines.push(...this.#take(marks));
      from = at + 1;
      this.#lineStart = this.#position + from;
    }
    this.#add(chunk.subarray(from));
    this.#position += chunk.length;
    if (this.#pendingBytes > MAX_LINE_BYTES) {
      lines.push(...this.#take(marks));
      this.#lineStart = this.#position;
    }
    return lines;
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#pending.push(part);
    this.#pendingBytes += part.length;
  }

  /** Ends the pending line. Returns it unless it lies before the reader's start. */
  #take(marks: readonly Mark[]): LogLine[] {
    const line = Buffer.concat(this.#pending).toString('utf8').replace(/\r$/, '');
    this.#pending = [];
    this.#pendingBytes = 0;
    const isTail = this.#isMidLine;
    this.#isMidLine = false;
    while (marks[this.#mark] && marks[this.#mark]!.end <= this.#lineStart) this.#mark += 1;
    const ms = marks[this.#mark]?.ms ?? 0;
    if (isTail || this.#wasSeen(ms)) return [];
    return [{ ts: new Date(ms), line }];
  }

  #wasSeen(ms: number): boolean {
    if (this.#sinceMs === undefined || ms > this.#sinceMs) return false;
    if (ms < this.#sinceMs) return true;
    this.#seen -= 1;
    return this.#seen >= 0;
  }
}

function readAt(path: string, position: number, length: number): Buffer {
  if (length <= 0) return Buffer.alloc(0);
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(file, buffer, 0, length, position));
  } finally {
    closeSync(file);
  }
}
