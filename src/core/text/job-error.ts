/** A job's error for people: what went wrong first, where it happened below. */
export interface JobErrorText {
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
export function parseJobError(error: string): JobErrorText {
  return fromJson(error) ?? fromText(error);
}

function fromJson(error: string): JobErrorText | null {
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
  return {
    message: message.trim(),
    type: typeOf(text('error_type', 'type')),
    traceback: text('error_traceback', 'traceback', 'stack')?.trim() ?? null,
  };
}

/** Python's SDK names classes as they are printed: `<class 'ValueError'>`. */
function typeOf(name: string | null): string | null {
  return name === null ? null : name.replace(/^<class '(?:builtins\.)?(.+)'>$/, '$1');
}

/** Lists have the first characters of an error, which end anywhere. */
function fromCutJson(error: string): JobErrorText | null {
  const [, inside] = /"error_message"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(error) ?? [];
  const [, type] = /^\s*\{"error_type"\s*:\s*"([^"\\]*)"/.exec(error) ?? [];
  if (!inside) return null;
  try {
    return { message: JSON.parse(`"${inside}"`) as string, type: typeOf(type ?? null), traceback: null };
  } catch {
    return null;
  }
}

function fromText(error: string): JobErrorText {
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

/** Returns what went wrong, with the kind of error: `ValueError: no such voice`. */
export function jobErrorHead(error: string): string {
  const { message, type } = parseJobError(error);
  return type === null || message.startsWith(type) ? message : `${type}: ${message}`;
}

/** Returns an error for a terminal: what went wrong, and its traceback below. An error in other words stays as it is. */
export function jobErrorText(error: string): string {
  const { traceback } = parseJobError(error);
  if (traceback === null || !error.includes('"error_traceback"')) return error;
  const head = jobErrorHead(error);
  const lines = traceback.split(/\r?\n/);
  return [head, ...(lines[0] === head ? lines.slice(1) : lines)].join('\n');
}
