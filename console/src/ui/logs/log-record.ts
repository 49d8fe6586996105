import { type LogRecord, messageLines, readLogRecord, tracebackLines } from '../../../../src/core/text/log-record.ts';
import type { LogLine } from './log-buffer.ts';

/** A logger's line of JSON as it is shown. */
export interface ShownRecord {
  record: LogRecord;
  /** Its message and, below it, the traceback; at least one. */
  lines: readonly string[];
}

/** Longer records are folded until they are opened. */
export const OPEN_UP_TO = 20;

const known = new WeakMap<LogLine, ShownRecord | null>();

/** Returns what a line says if a logger wrote it as JSON; null for any other. A line never changes, so each is read once. */
export function recordOf(line: LogLine): ShownRecord | null {
  let shown = known.get(line);
  if (shown === undefined) {
    const record = line.source === 'container' ? readLogRecord(line.line) : null;
    shown = record && { record, lines: [...messageLines(record), ...tracebackLines(record)].map(plainText) };
    known.set(line, shown);
  }
  return shown;
}

/** Returns a record for the clipboard: the traceback, after a message that it does not have. */
export function textOf({ record: { message, traceback } }: ShownRecord): string {
  if (traceback === null) return message;
  return traceback.includes(message) ? traceback : `${message}\n${traceback}`;
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
