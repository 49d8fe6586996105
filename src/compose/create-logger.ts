import type { Config } from '../config/config.ts';
import type { Logger } from '../core/logger.ts';

/** Logs JSON lines to stderr; stdout is for results. `name`: of this process among several, or null. */
export async function createLogger({ logLevel: level }: Config, name: string | null): Promise<Logger> {
  const [{ pino }, { describeError }] = await Promise.all([import('pino'), import('./describe-error.ts')]);
  const base = name === null ? null : { process: name };
  const logger: Logger = pino({ level, base, serializers: { err: describeError } }, pino.destination(2)); // the annotation hides pino's own type, which looks like a promise's
  return logger;
}
