import type { LogLine, LogsOptions } from '../../runtime.ts';

/** The engine sends long lines in pieces of 16 KiB. Beyond this limit they are returned in pieces too. */
const MAX_LINE_CHARACTERS = 256 * 1024;
const HEADER_BYTES = 8;

/**
 * Parses the engine's multiplexed log stream: frames of `[stream, 0, 0, 0, length as 4 bytes]`, each `<time> <text>`. A
 * text without a line end is continued by the next frame of its stream; the line has the time of its first piece.
 */
export class LogFrames {
  #rest: Buffer = Buffer.alloc(0);
  readonly #open = new Map<number, LogLine>();

  /** Returns the lines that end within this chunk. */
  *take(chunk: Buffer): Generator<LogLine> {
    let data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (data.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + data.readUInt32BE(4);
      if (data.length < end) break;
      const line = this.#frame(data.readUInt8(0), data.toString('utf8', HEADER_BYTES, end));
      if (line) yield line;
      data = data.subarray(end);
    }
    this.#rest = data;
  }

  /** Returns the lines without a line end. */
  end(): LogLine[] {
    return [...this.#open.values()];
  }

  #frame(stream: number, payload: string): LogLine | undefined {
    const blank = payload.indexOf(' ');
    const piece = payload.slice(blank + 1);
    const line = this.#open.get(stream) ?? { ts: new Date(payload.slice(0, blank)), line: '' };
    const isEnded = piece.endsWith('\n');
    line.line += isEnded ? piece.replace(/\r?\n$/, '') : piece;
    if (!isEnded && line.line.length < MAX_LINE_CHARACTERS) {
      this.#open.set(stream, line);
      return undefined;
    }
    this.#open.delete(stream);
    return line;
  }
}

/** A reader's position, as `Runtime.logs` counts it: the latest time, and the number of lines of exactly that time. */
export class LogPlace {
  hasStarted = false;
  #latestMs: number;
  #had: number;
  /** The position when the pass began, and how many lines of that time the pass has skipped. */
  #sinceMs = 0;
  #seen = 0;
  #skipped = 0;

  constructor({ since, seen }: Pick<LogsOptions, 'since' | 'seen'>) {
    this.#latestMs = since?.getTime() ?? Number.NEGATIVE_INFINITY;
    this.#had = seen ?? Number.POSITIVE_INFINITY;
  }

  /** Starts a pass. Returns the query: the engine omits what is older than `since`, and repeats what has exactly that time. */
  beginPass(): { since?: number } {
    this.#sinceMs = this.#latestMs;
    this.#seen = this.#had;
    this.#skipped = 0;
    return Number.isFinite(this.#sinceMs) ? { since: this.#sinceMs / 1000 } : {};
  }

  /**
   * True when the line is new to the reader; it then counts as read. Within a pass a line may be older than the one before
   * it (the engine stamps stdout and stderr concurrently), so only the position at the start of the pass decides.
   */
  pass({ ts }: LogLine): boolean {
    this.hasStarted = true;
    const ms = ts.getTime();
    if (ms < this.#sinceMs) return false;
    if (ms === this.#sinceMs && this.#skipped < this.#seen) {
      this.#skipped += 1;
      return false;
    }
    if (ms === this.#latestMs) this.#had += 1;
    if (ms > this.#latestMs) {
      this.#latestMs = ms;
      this.#had = 1;
    }
    return true;
  }
}
