import { LEVEL_MEMBERS, LEVEL_NAMES, LOG_LEVELS, type LogLevel, levelOf } from '../../core/text/log-levels.ts';
import { withoutSequences } from './quote-output.ts';

export { LOG_LEVELS, type LogLevel };

/**
 * Recognizes the level of a log line from its text, in the forms that common loggers print: JSON and logfmt fields, glog and
 * klog prefixes, a level's name near the start of the line, and tracebacks. docs/interface/logs.md lists the forms. Pure.
 */

const NAME = Object.keys(LEVEL_NAMES).join('|');
const GLOG: Readonly<Record<string, LogLevel>> = { I: 'INFO', W: 'WARN', E: 'ERROR', F: 'ERROR' };

/** A level is searched for in this much of a line: further on, a name is part of the message. */
const HEAD = 80;
const JSON_FIELD = new RegExp(
  `"(?:${LEVEL_MEMBERS.map((name) => name.replace('.', '\\.')).join('|')})"\\s*:\\s*(?:"([a-z]+)"|(\\d{1,2})\\b)`,
  'i',
);
const LOGFMT_FIELD = /(?:^|\s)(?:level|lvl|severity)="?([a-z]+)\b/i;
const GLOG_PREFIX = /^([IWEF])\d{4} \d\d:\d\d:\d\d/;
/** `ERROR`, `[ERROR]`, `ERROR:root:`, `2026-11-20 10:02:11 - app - WARNING - `; small letters only as in `[error]` or `error:`. */
const UPPER_NAME = new RegExp(`(?:^|[^A-Za-z0-9_])(${NAME.toUpperCase()})(?![A-Za-z0-9_])`);
const BRACKETED_NAME = new RegExp(`[[(<](${NAME})[\\])>]`, 'i');
const LEADING_NAME = new RegExp(`^(${NAME})(?:\\[[^\\]]*\\])?:`, 'i');
/** `ValueError: …`, `torch.OutOfMemoryError: …`, `Uncaught TypeError: …`; and `x.py:3: DeprecationWarning: …`. */
const EXCEPTION = /^(?:Uncaught )?(?:[A-Za-z_][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception)(?::|$)/;
const PYTHON_WARNING = /(?:^|: )[A-Z]\w*Warning: /;
const TRACEBACK = /^(?:Traceback \(most recent call last\):|thread '.*' panicked at|Exception in thread |Unhandled )/;
/** Continues the message of the line before: a stack, or a message of several lines. */
const CONTINUATION = /^(?:\s+\S|Caused by: |During handling of the above exception|The above exception was)/;

/** Returns a line's level, or null. `before`: the level of the line before it, which indented lines continue. */
export function recognizeLevel(text: string, before: LogLevel | null): LogLevel | null {
  const line = text.includes('\u001b') ? withoutSequences(text) : text;
  if (/^\s*\{/.test(line)) return jsonLevel(line);
  const glog = GLOG_PREFIX.exec(line);
  if (glog) return GLOG[glog[1]!]!;
  const field = LOGFMT_FIELD.exec(line);
  const named = field && levelOf(field[1]);
  if (named) return named;
  if (CONTINUATION.test(line)) return before;
  return levelOfHead(line.slice(0, HEAD));
}

function jsonLevel(line: string): LogLevel | null {
  const [, name, number] = JSON_FIELD.exec(line) ?? [];
  return levelOf(name ?? Number(number));
}

function levelOfHead(head: string): LogLevel | null {
  const found = UPPER_NAME.exec(head) ?? BRACKETED_NAME.exec(head) ?? LEADING_NAME.exec(head);
  if (found) return levelOf(found[1]);
  if (TRACEBACK.test(head) || EXCEPTION.test(head)) return 'ERROR';
  return PYTHON_WARNING.test(head) ? 'WARN' : null;
}

/** Returns what `log_lines.level` holds. */
export function levelNumber(level: LogLevel): number {
  return LOG_LEVELS.indexOf(level) + 1;
}

/** Returns the level that `log_lines.level` holds. */
export function levelOfNumber(level: number | null): LogLevel | null {
  return level === null ? null : (LOG_LEVELS[level - 1] ?? null);
}
