/** Payloads up to this size are shown without being asked for: what `getJob` carries as well. */
export const SHOWN_BYTES = 64 * 1024;
/** More text than this makes a page slow; the rest is in the download. */
export const MAX_SHOWN_CHARACTERS = 256 * 1024;

const INDENT = '  ';
/** A string, the only place where brackets and blanks mean nothing; a bracket, comma or colon; or a literal. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * Indents valid JSON text without parsing it: large numbers keep their digits, keys their order, and strings their escapes. Any
 * other text is returned as it is.
 */
export function prettyJson(text: string): string {
  if (!isJson(text)) return text;
  let depth = 0;
  let previous = '';
  let pretty = '';
  for (const [token] of text.matchAll(TOKENS)) {
    const isOpening = previous === '{' || previous === '[';
    const isClosing = token === '}' || token === ']';
    if (isClosing) depth -= 1;
    if (isClosing ? !isOpening : isOpening || previous === ',') pretty += `\n${INDENT.repeat(depth)}`;
    pretty += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
    previous = token;
  }
  return pretty;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const BYTE_UNITS = ['kB', 'MB', 'GB', 'TB'];

/** `1 byte`, `900 bytes`, `12.3 kB`, `10 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  const size = Math.min(BYTE_UNITS.length, Math.floor(Math.log10(bytes * 1.00005) / 3));
  const value = bytes / 1_000 ** size;
  return `${value < 100 ? Number(value.toFixed(1)) : Math.round(value)} ${BYTE_UNITS[size - 1]}`;
}
