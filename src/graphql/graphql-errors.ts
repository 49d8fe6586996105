import type { GraphQLError, GraphQLFormattedError } from 'graphql';
import { Failure, type FailureKind, isReported, messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { databaseFailure } from '../db/database-fault.ts';
import { toFailure } from '../http/to-failure.ts';

/** `extensions.code` of every kind of failure (docs/interface/graphql.md, "Errors"; TOO_MANY_REQUESTS is Podyard's own). */
const CODES: Record<FailureKind, string> = {
  badRequest: 'BAD_USER_INPUT',
  unauthorized: 'UNAUTHENTICATED',
  forbidden: 'FORBIDDEN',
  notFound: 'NOT_FOUND',
  methodNotAllowed: 'BAD_USER_INPUT',
  conflict: 'CONFLICT',
  contentTooLarge: 'BAD_USER_INPUT',
  unsupportedMediaType: 'BAD_USER_INPUT',
  unprocessable: 'BAD_USER_INPUT',
  tooManyRequests: 'TOO_MANY_REQUESTS',
  internal: 'INTERNAL_SERVER_ERROR',
  unavailable: 'INTERNAL_SERVER_ERROR',
  badGateway: 'INTERNAL_SERVER_ERROR',
  gatewayTimeout: 'INTERNAL_SERVER_ERROR',
  headersTooLarge: 'BAD_USER_INPUT',
  requestTimeout: 'INTERNAL_SERVER_ERROR',
  misdirected: 'INTERNAL_SERVER_ERROR',
};

const MAX_MESSAGE = 300;

/** A failure that clients know by its `extensions.code`, which is then not that of its kind. */
export class CodedFailure extends Failure {
  readonly code: string;

  constructor(kind: FailureKind, code: string) {
    super(kind, code);
    this.code = code;
  }
}

export function codeOf(failure: Failure): string {
  if (failure instanceof CodedFailure) return failure.code;
  return failure.isClash ? 'CONFLICT' : CODES[failure.kind];
}

/** Formats an error of the document or its variables, without values: they may be secret or huge. */
export function documentError({ message, locations }: GraphQLError): GraphQLFormattedError {
  return {
    message: withoutValues(message),
    ...(locations ? { locations } : {}),
    extensions: { code: CODES.badRequest },
  };
}

/** Formats what a resolver threw. An unexpected error is logged, and its text hidden. */
export function fieldError(error: GraphQLError, log: (message: string, cause: unknown) => void): GraphQLFormattedError {
  const failure = isValueError(error)
    ? new Failure('badRequest', withoutValues(error.message))
    : toFailure(error.originalError ?? new Error(error.message)); // the library's error contains the whole document
  if ((failure.kind === 'internal' || failure.kind === 'unavailable') && !isReported(failure)) {
    const cause = failure.cause ?? failure;
    log(`field ${error.path?.join('.')} failed: ${messageOf(cause)}`, cause);
  }
  const { locations, path } = error;
  return {
    message: failure.errors ? `${failure.message} ${failure.errors.join('; ')}` : failure.message,
    ...(locations ? { locations } : {}),
    ...(path ? { path } : {}),
    extensions: { code: codeOf(failure) },
  };
}

/** Returns the outage of the database that failed a field, if any: the client repeats the request. */
export function findOutage(errors: readonly GraphQLError[]): Failure | undefined {
  return errors
    .map(({ originalError }) => databaseFailure((originalError as Error)?.cause ?? originalError))
    .find(Boolean);
}

/** Returns a function that logs an error of this request; no field contains a key. */
export function logTo(logger: Logger, requestId: string): (message: string, cause: unknown) => void {
  return (message, err) => logger.error({ requestId, route: 'POST /graphql', err }, message);
}

/** True for an argument with an invalid run-time value, which the executor reports, not a resolver. */
function isValueError(error: GraphQLError): boolean {
  return error.originalError === undefined && /^Argument "|^Variable "/.test(error.message);
}

/** Removes values, which the library quotes or appends. */
function withoutValues(message: string): string {
  const text = withoutInvalid(
    withoutRepresented(withoutFound(message)).replace(/Unexpected (String|BlockString) .*$/s, 'Unexpected $1.'),
  );
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)}…`;
}

/** `…, but encountered error "…"; found: …` and `…. Found: …` end before what was found. */
function withoutFound(message: string): string {
  const foundAt = message.search(/ found:? /i);
  if (foundAt === -1) return message;
  const encounteredAt = message.indexOf(' but encountered error "');
  const end = encounteredAt !== -1 && encounteredAt < foundAt ? encounteredAt : foundAt;
  return `${message.slice(0, end).replace(/[,.;:]$/, '')}.`;
}

/** `String cannot represent a non string value: …` ends before the value. */
function withoutRepresented(message: string): string {
  const startsAt = message.indexOf(' cannot represent ');
  const colonAt = startsAt === -1 ? -1 : message.indexOf(': ', startsAt);
  return colonAt === -1 ? message : `${message.slice(0, colonAt)}.`;
}

/** `Variable "$v" got invalid value … at "v.x"; …` loses the value. */
function withoutInvalid(message: string): string {
  const startsAt = message.indexOf(' got invalid value ');
  const endsAt = startsAt === -1 ? -1 : message.indexOf(' at ', startsAt + ' got invalid value'.length);
  return endsAt === -1 ? message : message.slice(0, startsAt) + message.slice(endsAt);
}
