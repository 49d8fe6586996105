import type { LogLine } from '../../runtime.ts';

/** Longer lines are returned in pieces. */
const MAX_LINE_CHARACTERS = 256 * 1024;

/** Parses the log of a pod, lines of `<time> <text>`. A line without a time is the kubelet's own, e.g. about a missing file. */
export class LogText {
  readonly #decoder = new TextDecoder();
  #rest = '';

  /** Returns the lines that end within this chunk. */
  *take(chunk: Buffer): Generator<LogLine> {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) yield* piecesOf(line);
  }

  /** Returns the line without a line end. */
  end(): LogLine[] {
    return this.#rest === '' ? [] : [...piecesOf(this.#rest)];
  }
}

function* piecesOf(text: string): Generator<LogLine> {
  const blank = text.indexOf(' ');
  const stamp = blank === -1 ? text : text.slice(0, blank);
  const ts = new Date(stamp);
  if (Number.isNaN(ts.getTime())) return;
  const line = text.slice(stamp.length + 1).replace(/\r$/, '');
  for (let at = 0; at === 0 || at < line.length; at += MAX_LINE_CHARACTERS) {
    yield { ts, line: line.slice(at, at + MAX_LINE_CHARACTERS) };
  }
}
