import { Failure, type FailureKind } from '../core/errors.ts';
import { sqlState } from '../db/pool.ts';

/** What the HTTP framework throws before a route's own code runs. */
const BY_STATUS: Record<number, [FailureKind, string]> = {
  400: ['badRequest', 'The request could not be processed: it is malformed.'],
  404: ['notFound', 'Path not found'],
  413: ['contentTooLarge', 'The request body is too large.'],
  414: ['badRequest', 'The request could not be processed: its path is too long.'],
  415: ['unsupportedMediaType', 'The request body must be application/json.'],
};

const CONNECTION_TROUBLE = /^(ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)/;
const CONNECTION_TEXTS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Anything thrown, as a refusal. What nobody foresaw becomes `internal`, with the original as its cause. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isDatabaseGone(error)) return new Failure('unavailable', 'The database is not reachable.', { cause: error });
  const known = BY_STATUS[(error as { statusCode?: number } | null)?.statusCode ?? 500];
  if (known) return new Failure(known[0], known[1], { cause: error });
  return new Failure('internal', 'An unexpected error occurred.', { cause: error });
}

/** A connection that could not be had or broke, or a server that starts or stops (SQLSTATE class 57P). */
function isDatabaseGone(error: unknown): boolean {
  const state = sqlState(error);
  if (state?.startsWith('57P')) return true;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (
    (typeof code === 'string' && CONNECTION_TROUBLE.test(code)) ||
    (typeof message === 'string' && CONNECTION_TEXTS.test(message))
  );
}
