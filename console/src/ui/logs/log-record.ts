import type { LogLine } from './log-buffer.ts';

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

/** Sequences that color text or move a terminal's cursor. */
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;

/** Returns a line as a terminal would leave it: without colors, a progress bar in its last state. */
export function plainText(line: string): string {
  const text = line.includes('\u001b') ? line.replace(SEQUENCES, '') : line;
  return text.includes('\r') ? (text.split('\r').findLast((part) => part.trim() !== '') ?? '') : text;
}

/** A part of a line; `isMatch` if it is what was searched for. */
interface TextPart {
  text: string;
  isMatch: boolean;
}

/** Splits a line at what was searched for, in any case. */
export function splitMatches(text: string, search: string): TextPart[] {
  const parts: TextPart[] = [];
  const [lower, wanted] = [text.toLowerCase(), search.toLowerCase()];
  // Some letters have another length in lower case; then positions do not fit, and nothing is marked.
  if (wanted === '' || lower.length !== text.length) return [{ text, isMatch: false }];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    if (at > from) parts.push({ text: text.slice(from, at), isMatch: false });
    from = at + wanted.length;
    parts.push({ text: text.slice(at, from), isMatch: true });
  }
  if (from < text.length || parts.length === 0) parts.push({ text: text.slice(from), isMatch: false });
  return parts;
}

const two = (value: number) => String(value).padStart(2, '0');

/** The local time of day of a line with milliseconds, with the date if it was not today: `10:02:11.482`. */
export function timeOfLine(ts: string, nowMs: number): string {
  const at = new Date(ts);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** Within this distance of the end, a log counts as scrolled to the end. */
const END_PX = 40;

/** True when a scrolled box shows its last line. */
export function isAtEnd(box: { scrollTop: number; scrollHeight: number; clientHeight: number }): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight < END_PX;
}
