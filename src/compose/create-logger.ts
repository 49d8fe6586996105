import type { Config } from '../config.ts';
import type { Logger } from '../core/logger.ts';

/** JSON lines on stderr: stdout is for results. `name` is that of one process of several; null: there is but one. */
export async function createLogger({ logLevel: level }: Config, name: string | null): Promise<Logger> {
  const [{ pino }, { describeError }] = await Promise.all([import('pino'), import('../core/describe-error.ts')]);
  const base = name === null ? null : { process: name };
  const logger: Logger = pino({ level, base, serializers: { err: describeError } }, pino.destination(2)); // its own type looks like a promise's
  return logger;
}
