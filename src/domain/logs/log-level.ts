import { withoutSequences } from './quote-output.ts';

/**
 * Recognizes the level of a log line from its text, in the forms that common loggers print: JSON and logfmt fields, glog and
 * klog prefixes, a level's name near the start of the line, and tracebacks. docs/interface/logs.md lists the forms. Pure.
 */

/** From the least to the most severe; a line's stored level is its position here, from 1. */
export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What loggers call their levels, in lower case. */
const NAMES: Readonly<Record<string, LogLevel>> = {
  trace: 'DEBUG',
  verbose: 'DEBUG',
  debug: 'DEBUG',
  info: 'INFO',
  information: 'INFO',
  notice: 'INFO',
  warn: 'WARN',
  warning: 'WARN',
  err: 'ERROR',
  error: 'ERROR',
  severe: 'ERROR',
  crit: 'ERROR',
  critical: 'ERROR',
  alert: 'ERROR',
  emerg: 'ERROR',
  emergency: 'ERROR',
  fatal: 'ERROR',
  panic: 'ERROR',
};
const NAME = Object.keys(NAMES).join('|');
const GLOG: Readonly<Record<string, LogLevel>> = { I: 'INFO', W: 'WARN', E: 'ERROR', F: 'ERROR' };

/** A level is searched for in this much of a line: further on, a name is part of the message. */
const HEAD = 80;
/** Fields of JSON lines: of pino, bunyan, zap, slog, structlog, python-json-logger, ECS, Serilog, Cloud Logging. */
const JSON_FIELD =
  /"(?:level|severity|lvl|levelname|log\.level|loglevel|log_level|@l|@level)"\s*:\s*(?:"([a-z]+)"|(\d{1,2})\b)/i;
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
/** Goes on with what the line before said: a stack, or a message of several lines. */
const CONTINUATION = /^(?:\s+\S|Caused by: |During handling of the above exception|The above exception was)/;

/** Returns a line's level, or null. `before`: the level of the line before it, which indented lines continue. */
export function recognizeLevel(text: string, before: LogLevel | null): LogLevel | null {
  const line = text.includes('\u001b') ? withoutSequences(text) : text;
  if (/^\s*\{/.test(line)) return jsonLevel(line);
  const glog = GLOG_PREFIX.exec(line);
  if (glog) return GLOG[glog[1]!]!;
  const field = LOGFMT_FIELD.exec(line);
  const named = field && NAMES[field[1]!.toLowerCase()];
  if (named) return named;
  if (CONTINUATION.test(line)) return before;
  return levelOfHead(line.slice(0, HEAD));
}

function jsonLevel(line: string): LogLevel | null {
  const [, name, number] = JSON_FIELD.exec(line) ?? [];
  if (name !== undefined) return NAMES[name.toLowerCase()] ?? null;
  if (number === undefined) return null;
  // As pino and bunyan count: 10 and 20 are trace and debug, 30 info, 40 a warning, 50 and 60 error and fatal.
  const value = Number(number);
  if (value < 10) return null;
  return LOG_LEVELS[Math.min(Math.max(Math.floor(value / 10) - 2, 0), 3)]!;
}

function levelOfHead(head: string): LogLevel | null {
  const found = UPPER_NAME.exec(head) ?? BRACKETED_NAME.exec(head) ?? LEADING_NAME.exec(head);
  if (found) return NAMES[found[1]!.toLowerCase()]!;
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
