import { Failure, type FailureKind } from '../core/errors.ts';
import { sqlState } from '../db/pool.ts';

/** Errors that the HTTP framework throws before a route's own code runs. */
const BY_STATUS: Record<number, [FailureKind, string]> = {
  400: ['badRequest', 'The request could not be processed: it is malformed.'],
  404: ['notFound', 'Path not found'],
  413: ['contentTooLarge', 'The request body is too large.'],
  414: ['badRequest', 'The request could not be processed: its path is too long.'],
  415: ['unsupportedMediaType', 'The request body must be application/json.'],
};

const CONNECTION_CODES = /^(ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)/;
const CONNECTION_TEXTS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Turns anything thrown into a `Failure`. An unexpected error becomes `internal`, with the original as its cause. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isDatabaseDown(error)) return new Failure('unavailable', 'The database is not reachable.', { cause: error });
  const known = BY_STATUS[(error as { statusCode?: number } | null)?.statusCode ?? 500];
  if (known) return new Failure(known[0], known[1], { cause: error });
  return new Failure('internal', 'An unexpected error occurred.', { cause: error });
}

/** True when a connection could not be opened or broke, or the server is starting or stopping (SQLSTATE class 57P). */
function isDatabaseDown(error: unknown): boolean {
  const state = sqlState(error);
  if (state?.startsWith('57P')) return true;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (
    (typeof code === 'string' && CONNECTION_CODES.test(code)) ||
    (typeof message === 'string' && CONNECTION_TEXTS.test(message))
  );
}
