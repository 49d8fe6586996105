import { type LogRecord, messageLines, tracebackLines } from '../../core/text/log-record.ts';
import { shortId } from '../../core/text/short-id.ts';
import { terminalText } from '../terminal/terminal-text.ts';

const INDENT = '    ';
const PLAIN = '\u001b[0m';
const DIM = '\u001b[2m';
const COLORS = { DEBUG: DIM, INFO: '', WARN: '\u001b[33m', ERROR: '\u001b[31m' } as const;

/** Returns what a logger's line says: level, job and message, and below it, indented, further lines and the traceback. */
export function recordText(record: LogRecord, hasColors: boolean): string {
  const { level, jobId } = record;
  const paint = (color: string, text: string) => (hasColors && color !== '' ? `${color}${text}${PLAIN}` : text);
  const head = [
    ...(level === null ? [] : [paint(COLORS[level], level.padEnd(5))]),
    ...(jobId === null ? [] : [paint(DIM, shortId(jobId))]),
  ];
  return [...head, saidText(record, hasColors)].join(' ');
}

/** The message and the lines below it. Its control characters are visible: in the line of JSON they were escaped. */
export function saidText(record: LogRecord, hasColors: boolean): string {
  const lines = [...messageLines(record), ...tracebackLines(record)];
  return lines.map((line) => terminalText(line, hasColors)).join(`\n${INDENT}`);
}
