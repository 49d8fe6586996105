import type { LogLine } from './log-buffer.ts';
import { plainText } from './log-text.ts';

/** A line that holds several, such as a traceback which a worker kit logged as JSON. */
export interface LogRecord {
  /** Its level and job, as they stand before the text of common loggers; may be empty. */
  prefix: string;
  /** At least two. */
  lines: readonly string[];
}

/** Longer records are folded until somebody opens them. */
export const OPEN_UP_TO = 20;

const MESSAGES = ['message', 'msg', 'event'];
/** Where the kits, pino, structlog and python-json-logger put a stack. */
const STACKS = ['error_traceback', 'traceback', 'stack', 'exc_info', 'exception'];
const NESTED = ['err', 'error'];

const known = new WeakMap<LogLine, LogRecord | null>();

/** Returns the record that a line holds; null for a line that is one. A line never changes, so each is read once. */
export function recordOf(line: LogLine): LogRecord | null {
  let record = known.get(line);
  if (record === undefined) {
    record = readRecord(line.line);
    known.set(line, record);
  }
  return record;
}

/** The line that says most of a folded record: the error of a traceback is its last one, of other stacks the first. */
export function headOf({ lines }: LogRecord): string {
  return lines[0]!.startsWith('Traceback ') ? lines.at(-1)! : lines[0]!;
}

export function textOf({ lines }: LogRecord): string {
  return lines.join('\n');
}

function readRecord(text: string): LogRecord | null {
  if (!text.startsWith('{') || !text.includes('\\n')) return null;
  const fields = parseObject(text);
  if (fields === null) return null;
  const message = firstText(fields, MESSAGES) ?? '';
  const stack =
    firstText(fields, STACKS) ?? NESTED.map((name) => firstText(asObject(fields[name]), STACKS)).find(Boolean);
  const whole = message.includes('\n') || stack === undefined ? message : [message, stack].filter(Boolean).join('\n');
  const lines = whole.trimEnd().split(/\r?\n/).map(plainText);
  if (lines.length < 2) return null;
  const prefix = [fields.level, fields.requestId]
    .filter((field) => typeof field === 'string' && field !== '')
    .join(' ');
  return { prefix, lines };
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null; // it only looked like JSON
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function firstText(fields: Record<string, unknown>, names: readonly string[]): string | undefined {
  return names.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '') as
    | string
    | undefined;
}
