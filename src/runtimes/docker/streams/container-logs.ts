import { notFound } from '../../../core/errors.ts';
import type { LogLine, LogsOptions } from '../../runtime.ts';
import { type Engine, isRefusal } from '../engine/engine.ts';
import { EngineFrames, type Piece } from './engine-frames.ts';

/** See `Runtime.logs`; `container` is a name. */
export async function* readContainerLogs(
  engine: Engine,
  container: string,
  options: LogsOptions,
): AsyncGenerator<LogLine> {
  const place = new LogPlace(options);
  yield* onePass(engine, container, place, options);
  // The engine ends a follower when the container ends, sometimes before it has sent the last lines.
  if (options.follow && !options.signal.aborted) {
    yield* onePass(engine, container, place, { ...options, follow: false });
  }
}

/** One pass over what the engine has. A container that is being removed has no more lines. */
async function* onePass(
  engine: Engine,
  container: string,
  place: LogPlace,
  { follow, signal }: LogsOptions,
): AsyncGenerator<LogLine> {
  const query = { stdout: 1, stderr: 1, timestamps: 1, follow: follow ? 1 : 0, ...place.beginPass() };
  const frames = new LogFrames();
  try {
    const stream = await engine.stream({ method: 'GET', path: `/containers/${container}/logs`, query, signal });
    for await (const chunk of stream) for (const line of frames.take(chunk as Buffer)) if (place.pass(line)) yield line;
  } catch (error) {
    if (signal.aborted || isRefusal(error, 409)) return;
    if (!isRefusal(error, 404)) throw error;
    if (!place.hasStarted) throw notFound('Workload');
  }
  // While following, the engine may still hold the rest of an open line; the pass after it gets all of it.
  if (!follow) for (const line of frames.end()) if (place.pass(line)) yield line;
}

/** See `Runtime.lastOutput`. */
export async function readLastLines(engine: Engine, container: string, count: number): Promise<string[]> {
  const errors = await readTail(engine, container, { stderr: 1 }, count);
  return errors.length > 0 ? errors : readTail(engine, container, { stdout: 1 }, count);
}

/** A container that is gone has no lines. */
async function readTail(
  engine: Engine,
  container: string,
  streams: { stdout?: 1; stderr?: 1 },
  count: number,
): Promise<string[]> {
  const query = { stdout: 0, stderr: 0, ...streams, timestamps: 1, follow: 0, tail: count };
  const frames = new LogFrames();
  const lines: string[] = [];
  try {
    const stream = await engine.stream({ method: 'GET', path: `/containers/${container}/logs`, query });
    for await (const chunk of stream) for (const { line } of frames.take(chunk as Buffer)) lines.push(line);
  } catch (error) {
    if (isRefusal(error, 404) || isRefusal(error, 409)) return [];
    throw error;
  }
  return [...lines, ...frames.end().map(({ line }) => line)];
}

/** The engine sends long lines in pieces of 16 KiB. Beyond this limit they are returned in pieces too. */
const MAX_LINE_CHARACTERS = 256 * 1024;

/**
 * Parses the engine's log stream, whose frames are `<time> <text>`. A text without a line end is continued by the next frame of its
 * stream; the line has the time of its first piece.
 */
export class LogFrames {
  readonly #frames = new EngineFrames();
  #pieces: Buffer[] = [];
  readonly #open = new Map<Piece['stream'], LogLine>();

  /** Returns the lines that end within this chunk. */
  *take(chunk: Buffer): Generator<LogLine> {
    for (const { stream, bytes, isLast } of this.#frames.take(chunk)) {
      this.#pieces.push(bytes);
      if (!isLast) continue;
      const line = this.#frame(stream, Buffer.concat(this.#pieces).toString());
      this.#pieces = [];
      if (line) yield line;
    }
  }

  /** Returns the lines without a line end. */
  end(): LogLine[] {
    return [...this.#open.values()];
  }

  #frame(stream: Piece['stream'], payload: string): LogLine | undefined {
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
