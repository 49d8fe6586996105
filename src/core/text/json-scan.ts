/**
 * Bounds what parsing a JSON text can cost, before it is parsed: the parser of V8 takes seconds for some texts of 10 MB
 * (a million brackets in each other, a million keys), and nothing else runs meanwhile. `findShapeFault` looks at a whole text, and
 * `JsonScan` checks a large one piece by piece.
 */

/** Objects and arrays inside each other. */
export const MAX_JSON_DEPTH = 128;
/** Members of all objects of one text, and, counted apart, its objects and arrays: either takes about 150 ms to parse. */
export const MAX_JSON_MEMBERS = 250_000;

/** The smallest text that can break a limit: below it there is nothing to look for. */
const SMALLEST = MAX_JSON_DEPTH;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const U = 0x75;
const ESCAPABLE = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]));

/**
 * Returns which limit a text exceeds, as the end of a sentence, or null. Does not check whether it is valid JSON. `values`: how many
 * members and items all its objects and arrays may have together; default: any number.
 */
export function findShapeFault(bytes: Buffer, { values: maxValues = bytes.length } = {}): string | null {
  if (bytes.length <= SMALLEST) return null;
  let depth = 0;
  let members = 0;
  let containers = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case COLON:
        if (++members > MAX_JSON_MEMBERS) return `it has more than ${MAX_JSON_MEMBERS} object members`;
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        if (++depth > MAX_JSON_DEPTH) return `it is nested more than ${MAX_JSON_DEPTH} levels deep`;
        if (++containers > MAX_JSON_MEMBERS) return `it has more than ${MAX_JSON_MEMBERS} objects and arrays`;
        if (++values > maxValues) return tooMany(maxValues);
        break;
      case COMMA:
        if (++values > maxValues) return tooMany(maxValues);
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
    }
  }
  return null;
}

function tooMany(values: number): string {
  return `it has more than ${values} members and items`;
}

/** Bytes of a string that are checked before its end is searched: a search for each quote would be slow for many short strings. */
const LOOKED_AT = 48;

/** Position of the closing quote, or of the end of a text that has none. */
function endOfString(bytes: Buffer, start: number): number {
  let searchAt = start + LOOKED_AT;
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
    else if (at >= searchAt) {
      const quote = bytes.indexOf(QUOTE, at);
      if (quote < 0) return bytes.length;
      let backslashes = 0;
      while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
      if (backslashes % 2 === 0) return quote;
      at = quote;
      searchAt = at + LOOKED_AT;
    }
  }
  return bytes.length;
}

/** Bytes of a wanted name, each letter as an escape. */
const LONGEST_NAME = 100;

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'separator' | 'end';

/** Where the value of a member is in the text. */
interface Place {
  start: number;
  end: number;
}

/**
 * Checks a JSON text piece by piece and finds the values of members of its outermost object, without creating any value: the
 * parser of V8 takes hundreds of milliseconds for some texts of 1 MiB, and nothing else runs meanwhile. Accepts what
 * JSON.parse accepts, within these limits. The bytes must be UTF-8.
 */
export class JsonScan {
  /** Why the text is refused; null as long as it is not. */
  fault: { isTooMuch: boolean; text: string } | null = null;
  /** The last of several members with the same name, as in JSON.parse. */
  readonly members = new Map<string, Place>();
  readonly #bytes: Buffer;
  readonly #words: Int32Array;
  readonly #names: readonly string[];
  /** The closing brackets of what is open. */
  readonly #open: number[] = [];
  #expected: Expected = 'value';
  #at = 0;
  #objectMembers = 0;
  #containers = 0;
  /** The wanted member of the outermost object whose value is being read. */
  #member: { name: string; start: number } | null = null;

  /** `names`: the wanted members, in ASCII. */
  constructor(bytes: Buffer, names: readonly string[]) {
    this.#bytes = bytes;
    this.#words = wordsOf(bytes);
    this.#names = names;
  }

  /** Scans on for about as many bytes; a string is never divided. Returns true at the end, or once there is a fault. */
  scan(count: number): boolean {
    const bytes = this.#bytes;
    const end = Math.min(this.#at + count, bytes.length);
    while (this.#at < end && this.fault === null) {
      const byte = bytes[this.#at]!;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) this.#at += 1;
      else this.#token(byte);
    }
    if (this.fault !== null) return true;
    if (this.#at < bytes.length) return false;
    if (this.#expected !== 'end') this.#fail('it ends too early');
    return true;
  }

  #token(byte: number): void {
    const expected = this.#expected;
    if (expected === 'separator') this.#separator(byte);
    else if (expected === 'colon') this.#colon(byte);
    else if (byte === CLOSE_BRACKET && expected === 'value or ]') this.#close();
    else if (byte === CLOSE_BRACE && expected === 'name or }') this.#close();
    else if (expected === 'value' || expected === 'value or ]') this.#value(byte);
    else if (byte === QUOTE && expected !== 'end') this.#name();
    else this.#unexpected();
  }

  #separator(byte: number): void {
    const closing = this.#open.at(-1)!;
    if (byte === COMMA) {
      this.#expected = closing === CLOSE_BRACE ? 'name' : 'value';
      this.#at += 1;
    } else if (byte === closing) this.#close();
    else this.#unexpected();
  }

  #colon(byte: number): void {
    if (byte === COLON) {
      this.#at += 1;
      this.#expected = 'value';
    } else this.#unexpected();
  }

  #name(): void {
    const start = this.#at;
    if (!this.#string()) return;
    this.#objectMembers += 1;
    if (this.#objectMembers > MAX_JSON_MEMBERS) this.#exceed(`it has more than ${MAX_JSON_MEMBERS} object members`);
    this.#expected = 'colon';
    if (this.#open.length > 1) return;
    const name = this.#wantedName(start, this.#at);
    this.#member = name === undefined ? null : { name, start: -1 };
  }

  #wantedName(start: number, end: number): string | undefined {
    const hasEscapes = this.#bytes.subarray(start, end).includes(BACKSLASH);
    const length = end - start - 2;
    if (hasEscapes ? length > LONGEST_NAME : !this.#names.some((name) => name.length === length)) return undefined;
    const name = JSON.parse(this.#bytes.toString('utf8', start, end)) as string;
    return this.#names.includes(name) ? name : undefined;
  }

  #value(byte: number): void {
    if (this.#member?.start === -1) this.#member.start = this.#at;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#begin(byte);
    else if (this.#scalar(byte)) this.#end();
  }

  #scalar(byte: number): boolean {
    if (byte === QUOTE) return this.#string();
    return byte === MINUS || isDigit(byte) ? this.#number() : this.#literal(byte);
  }

  #begin(byte: number): void {
    this.#containers += 1;
    this.#open.push(byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
    this.#expected = byte === OPEN_BRACE ? 'name or }' : 'value or ]';
    this.#at += 1;
    if (this.#open.length > MAX_JSON_DEPTH) this.#exceed(`it is nested more than ${MAX_JSON_DEPTH} levels deep`);
    else if (this.#containers > MAX_JSON_MEMBERS) {
      this.#exceed(`it has more than ${MAX_JSON_MEMBERS} objects and arrays`);
    }
  }

  #close(): void {
    this.#open.pop();
    this.#at += 1;
    this.#end();
  }

  /** A value has ended. */
  #end(): void {
    this.#expected = this.#open.length === 0 ? 'end' : 'separator';
    if (this.#open.length !== 1 || this.#member === null) return;
    this.members.set(this.#member.name, { start: this.#member.start, end: this.#at });
    this.#member = null;
  }

  #string(): boolean {
    const bytes = this.#bytes;
    const words = this.#words;
    for (let at = this.#at + 1; at < bytes.length; at++) {
      while ((at & 3) === 0 && isPlain(words[at >> 2])) at += 4;
      const byte = bytes[at];
      if (byte === undefined) break;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (byte < 0x20) return this.#unexpected(at);
      if (byte !== BACKSLASH) continue;
      at += 1;
      if (bytes[at] === U) {
        for (let digits = 0; digits < 4; digits++) if (!isHex(bytes[++at])) return this.#unexpected(at);
      } else if (!ESCAPABLE.has(bytes[at] ?? 0)) return this.#unexpected(at);
    }
    return this.#fail('it ends too early');
  }

  #number(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    if (bytes[at] === MINUS) at += 1;
    if (!isDigit(bytes[at])) return this.#unexpected(at);
    at = bytes[at] === 0x30 ? at + 1 : this.#digits(at);
    if (bytes[at] === POINT) {
      if (!isDigit(bytes[++at])) return this.#unexpected(at);
      at = this.#digits(at);
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at += 1;
      if (bytes[at] === MINUS || bytes[at] === 0x2b) at += 1;
      if (!isDigit(bytes[at])) return this.#unexpected(at);
      at = this.#digits(at);
    }
    this.#at = at;
    return true;
  }

  /** Position of the first byte from `at` that is not a digit. */
  #digits(at: number): number {
    let end = at;
    while (isDigit(this.#bytes[end])) end += 1;
    return end;
  }

  #literal(byte: number): boolean {
    const word = LITERALS.get(byte);
    const end = this.#at + (word?.length ?? 0);
    if (!word?.equals(this.#bytes.subarray(this.#at, end))) return this.#unexpected();
    this.#at = end;
    return true;
  }

  #unexpected(at = this.#at): false {
    return this.#fail(at < this.#bytes.length ? `byte ${at} is unexpected` : 'it ends too early');
  }

  #fail(text: string): false {
    this.fault = { isTooMuch: false, text };
    return false;
  }

  #exceed(text: string): void {
    this.fault = { isTooMuch: true, text };
  }
}

/** The bytes four at a time; nothing where they don't begin at a whole word of the memory. */
function wordsOf(bytes: Buffer): Int32Array {
  const isAligned = bytes.byteOffset % 4 === 0;
  return new Int32Array(bytes.buffer, isAligned ? bytes.byteOffset : 0, isAligned ? bytes.length >> 2 : 0);
}

/** True for four bytes of a string that need no look at each: no quote, no backslash, no control character. */
function isPlain(word: number | undefined): boolean {
  if (word === undefined) return false;
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  const found =
    ((word - 0x20202020) & ~word) | ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash);
  return (found & 0x80808080) === 0;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
