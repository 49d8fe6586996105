import { notFound } from '../../../core/errors.ts';
import type { Engine } from '../../../engine/engine.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import { type LineParser, LogPlace, MAX_LINE_CHARACTERS, readLines } from '../../log-lines.ts';
import type { LogLine, LogsOptions } from '../../runtime.ts';
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

/** How much further back stderr is looked for, in turn: Docker counts the lines of both streams, and leaves those of one out. */
const FURTHER = [4, 1_000];

/** See `Runtime.lastOutput`. */
export async function readLastLines(engine: Engine, container: string, count: number): Promise<string[]> {
  let errors: string[] = [];
  for (const times of FURTHER) {
    errors = await readTail(engine, container, { stderr: 1 }, count * times);
    if (errors.length >= count) break;
  }
  return errors.length > 0 ? errors.slice(-count) : readTail(engine, container, { stdout: 1 }, count);
}

/** A container that is gone has no lines. */
async function readTail(
  engine: Engine,
  container: string,
  streams: { stdout?: 1; stderr?: 1 },
  count: number,
): Promise<string[]> {
  const query = { stdout: 0, stderr: 0, ...streams, timestamps: 1, follow: 0, tail: count };
  try {
    const stream = await engine.stream({ method: 'GET', path: `/containers/${container}/logs`, query });
    return await readLines(stream, new LogFrames());
  } catch (error) {
    if (isRefusal(error, 404) || isRefusal(error, 409)) return [];
    throw error;
  }
}

/**
 * Parses the engine's log stream, whose frames are `<time> <text>`, of at most 16 KiB. A text without a line end is continued by the next
 * frame of its stream; the line has the time of its first piece.
 */
export class LogFrames implements LineParser {
  readonly #frames = new EngineFrames();
  #pieces: Buffer[] = [];
  readonly #open = new Map<Piece['stream'], LogLine>();

  *take(chunk: Buffer): Generator<LogLine> {
    for (const { stream, bytes, isLast } of this.#frames.take(chunk)) {
      this.#pieces.push(bytes);
      if (!isLast) continue;
      const line = this.#frame(stream, Buffer.concat(this.#pieces).toString());
      this.#pieces = [];
      if (line) yield line;
    }
  }

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
