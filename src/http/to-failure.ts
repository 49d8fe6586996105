import type { IncomingMessage } from 'node:http';
import { Failure, type FailureKind } from '../core/errors.ts';
import { databaseFailure } from '../db/database-fault.ts';

/** Errors that the HTTP framework throws before a route's own code runs. */
const BY_STATUS: Record<number, [FailureKind, string]> = {
  400: ['badRequest', 'The request could not be processed: it is malformed.'],
  404: ['notFound', 'Path not found'],
  413: ['contentTooLarge', 'The request body is too large.'],
  414: ['badRequest', 'The request could not be processed: its path is too long.'],
  415: ['unsupportedMediaType', 'The request body must be application/json.'],
};

/** Turns anything thrown into a `Failure`. An unexpected error becomes `internal`, with the original as its cause. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const outage = databaseFailure(error);
  if (outage) return outage;
  const known = BY_STATUS[(error as { statusCode?: number } | null)?.statusCode ?? 500];
  if (known) return new Failure(known[0], known[1], { cause: error });
  return new Failure('internal', 'An unexpected error occurred.', { cause: error });
}

/** Like `toFailure`, for what a request failed with: a client that disconnects while it sends is not an error of the server. */
export function toRequestFailure(error: unknown, { complete, destroyed }: IncomingMessage): Failure {
  if (complete || !destroyed || error instanceof Failure) return toFailure(error);
  return new Failure('badRequest', 'The connection was closed before the request was complete.', { cause: error });
}
