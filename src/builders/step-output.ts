import { StringDecoder } from 'node:string_decoder';

export interface OutputLine {
  stream: 'stdout' | 'stderr' | 'system';
  text: string;
  at: Date;
}

/** Longer lines are cut. */
const MAX_LINE_CHARACTERS = 8 * 1024;
/** The output of a step is cut after this many characters. */
const MAX_STEP_CHARACTERS = 2 ** 20;
const LAST_LINES = 8;

/** Makes lines of what a step prints, and holds no more of it than one line of each stream. */
export class StepOutput {
  readonly #emit: (line: OutputLine) => void;
  readonly #streams = { stdout: new LineSplitter(), stderr: new LineSplitter() };
  #left = MAX_STEP_CHARACTERS;
  #last: string[] = [];

  constructor(emit: (line: OutputLine) => void) {
    this.#emit = emit;
  }

  /** The last lines that are not empty, those left out included. */
  get lastLines(): readonly string[] {
    return this.#last;
  }

  write(stream: 'stdout' | 'stderr', bytes: Buffer, at: Date): void {
    for (const text of this.#streams[stream].take(bytes)) this.#take({ stream, text, at });
  }

  /** Call when the step has ended: its last lines may have no line end. */
  end(at: Date): void {
    for (const stream of ['stdout', 'stderr'] as const)
      for (const text of this.#streams[stream].end()) this.#take({ stream, text, at });
  }

  #take(line: OutputLine): void {
    if (line.text.trim() !== '') this.#last = [...this.#last, line.text].slice(-LAST_LINES);
    if (this.#left <= 0) return;
    this.#left -= line.text.length + 1;
    if (this.#left > 0) {
      this.#emit(line);
      return;
    }
    const text = `The rest of what this step prints is left out: it is more than ${MAX_STEP_CHARACTERS / 2 ** 20} MiB.`;
    this.#emit({ stream: 'system', text, at: line.at });
  }
}

const CUT = ' … (cut)';

class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  #line = '';
  #isCut = false;

  *take(bytes: Buffer): Generator<string> {
    const parts = this.#decoder.write(bytes).split('\n');
    for (const [index, part] of parts.entries()) {
      this.#add(part);
      if (index < parts.length - 1) yield this.#finish();
    }
  }

  *end(): Generator<string> {
    this.#add(this.#decoder.end());
    if (this.#line !== '') yield this.#finish();
  }

  #add(part: string): void {
    const room = MAX_LINE_CHARACTERS - this.#line.length;
    this.#line += part.slice(0, room);
    this.#isCut ||= part.length > room;
  }

  /** A progress bar writes over its line again and again: the last state counts. PostgreSQL takes no NUL. */
  #finish(): string {
    let text = this.#line.replaceAll('\u0000', '');
    while (text.endsWith('\r')) text = text.slice(0, -1);
    const shown = text.slice(text.lastIndexOf('\r') + 1) + (this.#isCut ? CUT : '');
    this.#line = '';
    this.#isCut = false;
    return shown;
  }
}
