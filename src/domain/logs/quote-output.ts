import { messageLines, readLogRecord, tracebackLines } from '../../core/text/log-record.ts';

/**
 * The last lines of a program's output, as the end of the reason why it ended: a sentence, a colon, and the lines below it. They are the
 * user's own output and may hold anything, so they are shown only to readers of the log.
 */

const MAX_LINES = 8;
const MAX_BYTES = 2_048;
/** One long line must not push the others out. */
const MAX_LINE_BYTES = 512;
/** How many lines to read: some are empty. */
export const QUOTED_FROM = 24;

const [ESC, C1] = ['\\u001b', '\\u0080-\\u009f'];
/** Terminal sequences: CSI, OSC and other strings, and two-character ones. */
const SEQUENCES = new RegExp(
  `(?:${ESC}\\[|\\u009b)[0-?]*[ -/]*[@-~]|${ESC}[\\]PX^_][^\\u0007${ESC}]*(?:\\u0007|${ESC}\\\\)?|${ESC}[ -/]*[0-~]?`,
  'g',
);
/** Other control characters, and those that reorder text or break lines. */
const CONTROLS = new RegExp(
  `[\\u0000-\\u0008\\u000a-\\u001f\\u007f${C1}\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]`,
  'g',
);

/**
 * Adds the last lines to a reason: at most 8 and 2 KiB, without terminal sequences and control characters. A logger's line of JSON is
 * quoted as what it says.
 */
export function quoteOutput(reason: string, lines: readonly string[]): string {
  const quoted: string[] = [];
  let bytes = 0;
  for (const line of lines.flatMap(linesOf).toReversed()) {
    const text = cut(clean(line));
    if (text === '') continue;
    bytes += Buffer.byteLength(text) + 1;
    if (quoted.length === MAX_LINES || bytes > MAX_BYTES) break;
    quoted.unshift(text);
  }
  return quoted.length === 0 ? reason : `${reason}:\n${quoted.join('\n')}`;
}

/** Returns what a line says, an error below its traceback: the last line counts most. */
function linesOf(line: string): string[] {
  const record = readLogRecord(line);
  if (record === null) return [line];
  const message = messageLines(record);
  const traceback = tracebackLines(record);
  return traceback.at(-1) === message.at(-1) ? traceback : [...traceback, ...message];
}

/** Returns a reason without the output, for readers without access to the log. */
export function withoutOutput(reason: string): string {
  const end = reason.indexOf(':\n');
  return end === -1 ? reason : reason.slice(0, end);
}

/** Returns a reason as one line: the sentence and the last line of output, which usually names the error. */
export function inOneLine(reason: string): string {
  const end = reason.indexOf(':\n');
  const line = end === -1 ? reason : `${reason.slice(0, end)}: ${reason.slice(reason.lastIndexOf('\n') + 1).trim()}`;
  return line.replaceAll('\n', ' ').replace(SEQUENCES, '').replace(CONTROLS, '');
}

/** Returns text without the sequences that color it or move a terminal's cursor. */
export function withoutSequences(text: string): string {
  return text.replace(SEQUENCES, '');
}

/** Returns a line as a terminal would show it: a progress bar overwrites itself with carriage returns. */
function clean(line: string): string {
  const shown = withoutSequences(line)
    .split('\r')
    .findLast((part) => part.trim() !== '');
  return (shown ?? '').replaceAll('\t', '    ').replace(CONTROLS, '').toWellFormed().trimEnd();
}

/** Cuts between characters. */
function cut(text: string): string {
  if (Buffer.byteLength(text) <= MAX_LINE_BYTES) return text;
  let end = 0;
  let bytes = Buffer.byteLength('…');
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > MAX_LINE_BYTES) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}
