/** Longer texts are not read: errors are short, and reading holds up other requests. */
const MAX_CHARACTERS = 65_536;
const MAX_DEPTH = 32;
/** How many braces of a text are tried. */
const MAX_STARTS = 4;

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /True|False|None|true|false|null/y;
const WORDS: Record<string, unknown> = { True: true, False: false, None: null, true: true, false: false, null: null };
const BLANK = /\s*/y;
const PLAIN = /[^\\'"]+/y;
const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/sy;
const ESCAPED: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '\n': '' };
const CLOSING: Record<string, string> = { '[': ']', '(': ')' };

class NotALiteral extends Error {}

/**
 * Returns the first object in a text that is either JSON or a Python dict as `str` prints it, wherever it begins; undefined if
 * there is none. Python workers report an error as the text of its dict.
 */
export function findLiteralObject(text: string): Record<string, unknown> | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  let at = text.indexOf('{');
  for (let start = 0; start < MAX_STARTS && at !== -1; start++, at = text.indexOf('{', at + 1)) {
    try {
      return new LiteralReader(text, at).object(0);
    } catch (error) {
      if (!(error instanceof NotALiteral)) throw error;
    }
  }
  return undefined;
}

class LiteralReader {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  object(depth: number): Record<string, unknown> {
    this.#expect('{');
    const members: [string, unknown][] = [];
    while (!this.#skip('}')) {
      const key = this.#value(depth + 1);
      this.#expect(':');
      members.push([String(key), this.#value(depth + 1)]);
      if (!this.#skip(',') && this.#peek() !== '}') throw new NotALiteral();
    }
    return Object.fromEntries(members);
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NotALiteral();
    const first = this.#peek();
    if (first === '{') return this.object(depth);
    if (first === "'" || first === '"') return this.#string(first);
    const closing = CLOSING[first];
    if (closing !== undefined) return this.#list(closing, depth);
    const word = this.#match(WORD)?.[0];
    if (word !== undefined) return WORDS[word];
    const number = this.#match(NUMBER)?.[0];
    if (number === undefined) throw new NotALiteral();
    return Number(number);
  }

  #list(closing: string, depth: number): unknown[] {
    this.#at++;
    const items: unknown[] = [];
    while (!this.#skip(closing)) {
      items.push(this.#value(depth + 1));
      if (!this.#skip(',') && this.#peek() !== closing) throw new NotALiteral();
    }
    return items;
  }

  #string(quote: string): string {
    this.#at++;
    let value = '';
    for (;;) {
      value += this.#match(PLAIN)?.[0] ?? '';
      const next = this.#text[this.#at];
      if (next === undefined) throw new NotALiteral();
      if (next === '\\') value += this.#escaped();
      else {
        this.#at++;
        if (next === quote) return value;
        value += next;
      }
    }
  }

  #escaped(): string {
    const match = this.#match(ESCAPE);
    if (!match) throw new NotALiteral();
    const [, byte, unit, point, single] = match;
    if (single !== undefined) return ESCAPED[single] ?? (/[\\'"/]/.test(single) ? single : `\\${single}`);
    const code = Number.parseInt(byte ?? unit ?? point ?? '', 16);
    if (code > 0x10ffff) throw new NotALiteral();
    return unit === undefined ? String.fromCodePoint(code) : String.fromCharCode(code);
  }

  #peek(): string {
    this.#match(BLANK);
    return this.#text[this.#at] ?? '';
  }

  #skip(mark: string): boolean {
    if (this.#peek() !== mark) return false;
    this.#at++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#skip(mark)) throw new NotALiteral();
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }
}
