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

/** `1 byte`, `900 bytes`, `12.3 KB`, `10 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  const [value, unit] = bytes < 999_950 ? [bytes / 1_000, 'KB'] : [bytes / 1_000_000, 'MB'];
  return `${value < 100 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}

/** An error for people: what went wrong first, where it happened below. */
export interface ErrorText {
  message: string;
  /** The kind of error, if the message does not begin with it. */
  type: string | null;
  traceback: string | null;
}

const TRACEBACK = /Traceback \(most recent call last\):/;
/** A line of a JavaScript stack. */
const STACK_LINE = /^\s+at .+/;

/**
 * Splits a job's error. Worker kits send JSON with `error_type`, `error_message` and `error_traceback`; others a text that ends
 * with a traceback; Python's has its message in the last line.
 */
export function parseError(error: string): ErrorText {
  return fromJson(error) ?? fromText(error);
}

function fromJson(error: string): ErrorText | null {
  if (!error.trimStart().startsWith('{')) return null;
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(error) as Record<string, unknown>;
  } catch {
    return fromCutJson(error);
  }
  const text = (...names: string[]) =>
    names.map((name) => value[name]).find((one): one is string => typeof one === 'string' && one.trim() !== '') ?? null;
  const message = text('error_message', 'message', 'detail', 'error');
  if (message === null) return null;
  const type = text('error_type', 'type')?.replace(/^<class '(?:builtins\.)?(.+)'>$/, '$1') ?? null;
  return { message: message.trim(), type, traceback: text('error_traceback', 'traceback', 'stack')?.trim() ?? null };
}

/** Lists have the first characters of an error, which end anywhere. */
function fromCutJson(error: string): ErrorText | null {
  const [, inside] = /"error_message"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(error) ?? [];
  if (!inside) return null;
  try {
    return { message: JSON.parse(`"${inside}"`) as string, type: null, traceback: null };
  } catch {
    return null;
  }
}

function fromText(error: string): ErrorText {
  const text = error.trim();
  const start = text.search(TRACEBACK);
  if (start >= 0) {
    const traceback = text.slice(start).trim();
    const last = traceback.slice(traceback.lastIndexOf('\n') + 1).trim();
    const before = text.slice(0, start).trimEnd().replace(/:$/, '');
    return { message: last || before, type: null, traceback };
  }
  const lines = text.split('\n');
  const firstAt = lines.findIndex((line) => STACK_LINE.test(line));
  if (firstAt > 0) {
    return {
      message: lines.slice(0, firstAt).join('\n').trim(),
      type: null,
      traceback: lines.slice(firstAt).join('\n'),
    };
  }
  return { message: text, type: null, traceback: null };
}
