/** The largest piece that /stream returns, as JSON. */
export const MAX_PART_BYTES = 1_000_000;

const BACKSLASH = '\\';
const LOW_SURROGATE = /^\\ud[c-f]/i;
const HIGH_SURROGATE = /^\\ud[89ab]/i;

/**
 * Splits the JSON of a long text into that of consecutive parts, which together are the text; no character is cut in two. Any
 * other JSON is returned as it is: a part of it would be none.
 */
export function splitText(json: string): string[] {
  const text = json.trim();
  if (!text.startsWith('"') || Buffer.byteLength(text) <= MAX_PART_BYTES) return [json];
  const parts: string[] = [];
  const end = text.length - 1;
  for (let from = 1; from < end; ) {
    const to = endOfPart(text, from, end);
    parts.push(`"${text.slice(from, to)}"`);
    from = to;
  }
  return parts;
}

function endOfPart(text: string, from: number, end: number): number {
  const maxBytes = MAX_PART_BYTES - 2; // the quotes
  let to = Math.min(end, from + maxBytes);
  for (;;) {
    const bytes = Buffer.byteLength(text.slice(from, to));
    if (bytes <= maxBytes) break;
    to = from + Math.floor(((to - from) * maxBytes) / bytes);
  }
  return to === end ? end : beginOfCharacter(text, to);
}

/** Returns the last place, up to the given one, that is between two characters. */
function beginOfCharacter(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const isLow = unit >= 0xdc00 && unit <= 0xdfff;
  const begin = beginOfEscape(text, isLow ? at - 1 : at);
  const isInPair =
    LOW_SURROGATE.test(text.slice(begin, begin + 4)) && HIGH_SURROGATE.test(text.slice(begin - 6, begin));
  return isInPair ? beginOfEscape(text, begin - 6) : begin;
}

/** Returns the begin of the escape sequence that the place is in, or else the place. */
function beginOfEscape(text: string, at: number): number {
  const before = text.slice(at - 5, at).lastIndexOf(BACKSLASH);
  if (before === -1) return at;
  const begin = at - 5 + before;
  let backslashes = 1;
  while (text[begin - backslashes] === BACKSLASH) backslashes += 1;
  const isEscaped = backslashes % 2 === 0;
  const length = text[begin + 1] === 'u' ? 6 : 2;
  return isEscaped || begin + length <= at ? at : begin;
}
