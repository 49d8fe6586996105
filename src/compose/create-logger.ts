import type { Config } from '../config/config.ts';
import type { Logger } from '../core/logger.ts';
import { LogOutput } from './log-output.ts';

/** Logs JSON lines to stderr; stdout is for results. `name`: of this process among several, or null. */
export async function createLogger({ logLevel: level }: Config, name: string | null): Promise<Logger> {
  const { pino } = await import('pino');
  const base = name === null ? null : { process: name };
  const logger: Logger = pino({ level, base, serializers: { err: describeError } }, new LogOutput(2)); // the annotation hides pino's own type, which looks like a promise's
  return logger;
}

/** An error as it is logged. */
interface ErrorDescription {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorDescription;
}

const MAX_CHARACTERS = 2_000;
const MAX_CAUSES = 5;
/** SQLSTATE class of data exceptions, whose messages quote the value. */
const IS_ABOUT_VALUE = /^22/;

/**
 * Returns the parts of an error that are safe to log. Database errors carry whole rows in `detail` and `where`, and HTTP
 * clients' errors carry headers with keys.
 */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: cut(String(error)) };
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const isAboutValue = typeof code === 'string' && IS_ABOUT_VALUE.test(code);
  const message = isAboutValue ? error.message.replace(/"[\s\S]*"/, '"…"') : error.message;
  return {
    type: error.name,
    message: cut(message),
    ...(typeof code === 'string' ? { code } : {}),
    ...(error.stack === undefined ? {} : { stack: cut(framesOf(error.stack)) }),
    ...(cause === undefined || depth >= MAX_CAUSES ? {} : { cause: describeError(cause, depth + 1) }),
  };
}

/** Returns the stack frames without the lines before them, which repeat the message. */
function framesOf(stack: string): string {
  const first = stack.search(/^ {4}at /m);
  return first < 0 ? '' : stack.slice(first);
}

function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
