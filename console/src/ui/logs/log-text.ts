/** Sequences that color text or move a terminal's cursor. */
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;

/** What a terminal would show of a line: without colors, and of a progress bar its last state. */
export function plainText(line: string): string {
  const text = line.includes('\u001b') ? line.replace(SEQUENCES, '') : line;
  return text.includes('\r') ? (text.split('\r').findLast((part) => part.trim() !== '') ?? '') : text;
}

/** A part of a line; `isMatch` if it is what was searched for. */
export interface TextPart {
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
