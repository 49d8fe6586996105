/**
 * The output of a workload whose processes write straight into a file, so that not a line is lost while Podyard is away.
 * The file holds bytes, not times: an index beside it says up to which offset bytes were seen when. What was said about
 * a byte stays for ever, which is what makes a resume by time exact. Everything here is synchronous and short, so that two
 * readers never see half a change.
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
import type { LogLine, LogsOptions } from '../runtime.ts';

const CHUNK_BYTES = 64 * 1024;
/** A line longer than this is handed out in pieces: a worker that prints no line end must not fill the memory. */
const MAX_LINE_BYTES = 256 * 1024;
/** How long bytes may wait for their time while a workload prints without pause. */
const NOTE_PAUSE_MS = 10;

/** Bytes before `end`, and not before the end of the mark before, were first seen at `ms`. Both ascend. */
interface Mark {
  end: number;
  ms: number;
}

export class OutputLog {
  readonly #path: string;
  readonly #indexPath: string;
  readonly #maxBytes: number;
  #marks: Mark[] = [];
  #indexBytes = 0;
  /** Counts the cuts, so that a reader knows that its position is void. */
  #generation = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiters = new Set<() => void>();

  /** `path` may not exist yet. Beyond `maxBytes` the file is emptied, with a line that says so. */
  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#indexPath = `${path}.index`;
    this.#maxBytes = maxBytes;
    this.note();
  }

  /** Tells that the file may have grown. Calls in quick succession cost one look. */
  changed(): void {
    if (this.#timer) return;
    this.note();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.note();
    }, NOTE_PAUSE_MS);
    this.#timer.unref();
  }

  /** Gives the bytes that are new a time and wakes the readers. */
  note(): void {
    const file = statSync(this.#path, { throwIfNoEntry: false });
    if (!file) return;
    this.#readIndex();
    if (file.size > this.#notedBytes) {
      const mark = { end: file.size, ms: Math.max(Math.floor(file.mtimeMs), this.#marks.at(-1)?.ms ?? 0) };
      this.#addMark(mark);
      const record = `${mark.end} ${mark.ms}\n`;
      appendFileSync(this.#indexPath, record);
      this.#indexBytes += record.length;
    }
    if (file.size > this.#maxBytes) this.#cut();
    this.wake();
  }

  get #notedBytes(): number {
    return this.#marks.at(-1)?.end ?? 0;
  }

  #addMark(mark: Mark): void {
    const last = this.#marks.at(-1);
    if (last?.ms === mark.ms) last.end = mark.end;
    else this.#marks.push(mark);
  }

  /** Lets readers look again: at new bytes, or at whether the workload has ended. */
  wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.wake();
  }

  /** See `Runtime.logs`. `isOver` says that nothing more will be written. */
  async *read(options: LogsOptions, isOver: () => boolean): AsyncGenerator<LogLine> {
    const cursor = new Cursor(options.since?.getTime(), options.seen);
    while (!options.signal.aborted) {
      const isLast = isOver(); // asked before the last look, or the last lines would be missed
      this.note();
      cursor.enter(this.#generation, this.#marks, this.#path);
      for (;;) {
        const lines = cursor.read(this.#path, this.#marks, this.#notedBytes, isLast);
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

  /** Another process of ours may have written to the index, or have cut both files. */
  #readIndex(): void {
    const size = statSync(this.#indexPath, { throwIfNoEntry: false })?.size ?? 0;
    if (size === this.#indexBytes) return;
    if (size < this.#indexBytes) this.#generation += 1;
    this.#marks = [];
    for (const record of readFileSync(this.#indexPath, 'latin1').split('\n')) {
      const [end, ms] = record.split(' ').map(Number);
      const last = this.#marks.at(-1);
      if (ms !== undefined && (!last || (end! > last.end && ms >= last.ms))) this.#addMark({ end: end!, ms });
    }
    this.#indexBytes = size;
  }

  #cut(): void {
    const ms = Math.max(Date.now(), this.#marks.at(-1)!.ms + 1); // later than all before: a resume reads from here
    truncateSync(this.#path, 0);
    appendFileSync(this.#path, `[podyard] older lines were dropped here: a log holds ${this.#maxBytes} bytes\n`);
    const end = statSync(this.#path).size;
    const record = `${end} ${ms}\n`;
    writeFileSync(this.#indexPath, record);
    this.#marks = [{ end, ms }];
    this.#indexBytes = record.length;
    this.#generation += 1;
  }

  /** The timer is for file systems that send no events. */
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

/** One reader's place in the file. */
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

  /** Finds the start, at first and after a cut: the first line whose time is not before `since`. */
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
    // A line that began before the mark has the time of its beginning, and was handed out under that time.
    this.#isMidLine = this.#position > 0 && readAt(path, this.#position - 1, 1).toString() !== '\n';
  }

  /** The lines of the next chunk, or undefined at the end. `isLast` hands out a last line without its end as well. */
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

  /** Ends the line that is pending: none or one line, depending on where the reader wanted to begin. */
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
