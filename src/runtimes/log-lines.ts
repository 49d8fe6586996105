import type { Readable } from 'node:stream';
import type { LogLine, LogsOptions } from './runtime.ts';

/** Longer lines are returned in pieces. */
export const MAX_LINE_CHARACTERS = 256 * 1024;

/** Parses the log of an engine or a node. */
export interface LineParser {
  /** Returns the lines that end within this chunk. */
  take(chunk: Buffer): Iterable<LogLine>;
  /** Returns the lines without a line end. */
  end(): LogLine[];
}

/** Reads a log to its end. */
export async function readLines(stream: Readable, parser: LineParser): Promise<string[]> {
  const lines: LogLine[] = [];
  for await (const chunk of stream) lines.push(...parser.take(chunk as Buffer));
  return [...lines, ...parser.end()].map(({ line }) => line);
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
