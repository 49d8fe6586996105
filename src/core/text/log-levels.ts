/** From the least to the most severe. */
export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Loggers' names of levels, in lower case. */
export const LEVEL_NAMES: Readonly<Record<string, LogLevel>> = {
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

/** Members of JSON lines: of pino, bunyan, zap, slog, structlog, python-json-logger, ECS, Serilog, Cloud Logging. */
export const LEVEL_MEMBERS = [
  'level',
  'severity',
  'lvl',
  'levelname',
  'log.level',
  'loglevel',
  'log_level',
  '@l',
  '@level',
];

/** Returns the level that a logger means by a name or a number; null for none. */
export function levelOf(value: unknown): LogLevel | null {
  if (typeof value === 'string') {
    const name = value.toLowerCase();
    return Object.hasOwn(LEVEL_NAMES, name) ? LEVEL_NAMES[name]! : null;
  }
  // As pino and bunyan count: 10 and 20 are trace and debug, 30 info, 40 a warning, 50 and 60 error and fatal.
  if (typeof value !== 'number' || !(value >= 10 && value < 100)) return null;
  return LOG_LEVELS[Math.min(Math.max(Math.floor(value / 10) - 2, 0), 3)]!;
}
