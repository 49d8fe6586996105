/**
 * Splits an upload into its requests as it arrives: JSON lines, a JSON array, or an object with an array `requests`. Looks only
 * for where each request ends; whether it is valid JSON is for its parser to say, so that one broken line spoils no other.
 */
import { Failure } from '../../../core/errors.ts';

/** A request's text; null: a blank line; `tooLong`: it was longer than the limit and dropped. */
export type Piece = Buffer | null | 'tooLong';

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** How far the array `requests` may be from the start of its object. */
const MAX_PREFIX_BYTES = 64 * 1024;

type Mode = 'unknown' | 'lines' | 'array' | 'done';

export class RequestSplitter {
  readonly #limitBytes: number;
  #mode: Mode;
  #isFirst = true;
  /** The beginning of the piece that is not complete yet. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #isDropping = false;
  /** Bytes dropped so far of a piece that is over the limit. */
  #droppedBytes = 0;
  /** State within the array element: nested brackets, and whether the last byte was in a string, after a backslash. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #elements = 0;

  /** `isLines`: certainly JSON lines; otherwise the first bytes decide. */
  constructor(options: { limitBytes: number; isLines: boolean }) {
    this.#limitBytes = options.limitBytes;
    this.#mode = options.isLines ? 'lines' : 'unknown';
  }

  /** Bytes of an incomplete piece in memory. */
  get pendingBytes(): number {
    return this.#partBytes;
  }

  /** The length of a piece over the limit that is not complete; 0: there is none. */
  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  /** Returns the pieces that are complete with this chunk. */
  push(chunk: Buffer): Piece[] {
    let bytes = chunk;
    if (this.#mode === 'unknown') {
      const start = this.#recognize(bytes, false);
      if (start === undefined) return [];
      bytes = start;
    }
    return this.#split(bytes);
  }

  /** Returns the last piece. Throws `badRequest` if an array was not closed. */
  end(): Piece[] {
    if (this.#mode === 'unknown') {
      const rest = this.#recognize(Buffer.alloc(0), true);
      if (rest === undefined) return [];
      return [...this.#split(rest), ...this.end()];
    }
    if (this.#mode === 'array') {
      throw new Failure(
        'badRequest',
        `the JSON array of requests is not closed: it ends in element ${this.#elements + 1}. The elements before it were taken`,
      );
    }
    return this.#mode === 'lines' && (this.#partBytes > 0 || this.#isDropping) ? [this.#take(Buffer.alloc(0))] : [];
  }

  /** Finds out what the upload is; returns the bytes to split, or undefined while that needs more. */
  #recognize(bytes: Buffer, isEnd: boolean): Buffer | undefined {
    const all = this.#partBytes === 0 ? bytes : Buffer.concat([...this.#parts, bytes]);
    const first = skipBlanks(all, all.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0);
    const isTooShort = first === all.length || (all[0] === BOM[0] && all.length < BOM.length);
    const found = isTooShort && !isEnd ? 'more' : findArray(all, first);
    if (found === 'more' && !isEnd && all.length < MAX_PREFIX_BYTES) {
      this.#parts = [all];
      this.#partBytes = all.length;
      return undefined;
    }
    this.#parts = [];
    this.#partBytes = 0;
    this.#mode = typeof found === 'number' ? 'array' : 'lines';
    return typeof found === 'number' ? all.subarray(found + 1) : all;
  }

  #split(bytes: Buffer): Piece[] {
    if (this.#mode === 'array') return this.#pushArray(bytes);
    return this.#mode === 'lines' ? this.#pushLines(bytes) : [];
  }

  #pushLines(bytes: Buffer): Piece[] {
    const pieces: Piece[] = [];
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      if (end < 0) break;
      pieces.push(this.#take(bytes.subarray(start, end)));
      start = end + 1;
    }
    this.#keep(bytes.subarray(start));
    return pieces;
  }

  #pushArray(bytes: Buffer): Piece[] {
    const pieces: Piece[] = [];
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isInString = false;
      } else if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) this.#depth += 1;
      else if (this.#depth > 0) {
        if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#depth -= 1;
      } else if (byte === COMMA || byte === CLOSE_BRACKET) {
        const piece = this.#take(bytes.subarray(start, at));
        start = at + 1;
        const isEmptyArray = piece === null && byte === CLOSE_BRACKET && this.#elements === 0;
        if (!isEmptyArray) {
          pieces.push(piece ?? Buffer.alloc(0)); // nothing between two commas is not a request
          this.#elements += 1;
        }
        if (byte === CLOSE_BRACKET) {
          this.#mode = 'done'; // what follows closes the object around the array
          return pieces;
        }
      }
    }
    this.#keep(bytes.subarray(start));
    return pieces;
  }

  #keep(part: Buffer): void {
    if (this.#isDropping) this.#droppedBytes += part.length;
    if (part.length === 0 || this.#isDropping) return;
    this.#parts.push(Buffer.from(part)); // a copy: the part would keep its whole chunk in memory
    this.#partBytes += part.length;
    if (this.#partBytes <= this.#limitBytes) return;
    this.#isDropping = true;
    this.#droppedBytes = this.#partBytes;
    this.#parts = [];
    this.#partBytes = 0;
  }

  /** Returns the piece that ends with `part`. */
  #take(part: Buffer): Piece {
    const isTooLong = this.#isDropping || this.#partBytes + part.length > this.#limitBytes;
    let whole = isTooLong || this.#partBytes === 0 ? part : Buffer.concat([...this.#parts, part]);
    if (this.#isFirst && whole.subarray(0, BOM.length).equals(BOM)) whole = whole.subarray(BOM.length);
    this.#isFirst = false;
    this.#parts = [];
    this.#partBytes = 0;
    this.#isDropping = false;
    this.#droppedBytes = 0;
    if (isTooLong) return 'tooLong';
    return skipBlanks(whole, 0) === whole.length ? null : whole;
  }
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= 0x20) at += 1;
  return at;
}

/**
 * Returns where the array of requests opens: the text itself, or the member `requests` of its object, if that comes before a
 * member `input`. `none`: there is no such array; `more`: the text ends before that is certain.
 */
function findArray(bytes: Buffer, first: number): number | 'none' | 'more' {
  if (bytes[first] === OPEN_BRACKET) return first;
  if (bytes[first] !== OPEN_BRACE) return 'none';
  let at = first + 1;
  for (;;) {
    at = skipBlanks(bytes, at);
    if (at >= bytes.length) return 'more';
    if (bytes[at] !== QUOTE) return 'none';
    const keyEnd = endOfString(bytes, at);
    if (keyEnd < 0) return 'more';
    const key = bytes.toString('utf8', at + 1, keyEnd);
    if (key === 'input') return 'none';
    at = skipBlanks(bytes, keyEnd + 1);
    if (at >= bytes.length) return 'more';
    if (bytes[at] !== COLON) return 'none';
    at = skipBlanks(bytes, at + 1);
    if (at >= bytes.length) return 'more';
    if (key === 'requests' && bytes[at] === OPEN_BRACKET) return at;
    at = endOfValue(bytes, at);
    if (at >= bytes.length) return 'more';
    if (bytes[at] !== COMMA) return 'none';
    at += 1;
  }
}

/** Position of the closing quote; -1 if there is none. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at += 1;
    else if (bytes[at] === QUOTE) return at;
  }
  return -1;
}

/** Position of the comma or bracket after a value of an object; the length if the text ends before. */
function endOfValue(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (at < 0) return bytes.length;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (byte === COMMA && depth === 0) return at;
  }
  return bytes.length;
}
