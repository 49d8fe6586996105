/**
 * Bounds what parsing a JSON text can cost, before it is parsed: the parser of V8 takes seconds for some texts of 10 MB
 * (a million brackets in each other, a million keys), and nothing else runs meanwhile.
 */

/** Objects and arrays inside each other. */
export const MAX_JSON_DEPTH = 128;
/** Members of all objects of one text, and, counted apart, its objects and arrays: either takes about 150 ms to parse. */
export const MAX_JSON_MEMBERS = 250_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** The smallest text that can break a limit: below it there is nothing to look for. */
const SMALLEST = MAX_JSON_DEPTH;

/**
 * Returns what is too much about a text, as the end of a sentence, or null. Does not tell whether it is valid JSON. `values`:
 * how many members and items all its objects and arrays may have together; default: any number.
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

/** Position of the closing quote, or of the end of a text that has none. A search for each quote would take long for many. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return bytes.length;
}
