/**
 * The kinds of failures. Domain code throws a `Failure`, and each plane maps it to its wire format. Its message is public;
 * an internal error goes into `cause`, which only the log shows.
 */
export type FailureKind =
  | 'badRequest'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'methodNotAllowed'
  | 'conflict'
  | 'contentTooLarge'
  | 'unsupportedMediaType'
  | 'unprocessable'
  | 'tooManyRequests'
  | 'requestTimeout'
  | 'misdirected'
  | 'headersTooLarge'
  | 'internal'
  | 'badGateway'
  | 'unavailable'
  | 'gatewayTimeout';

/** Status and title of every kind of failure (docs/interface/rest.md, "Errors"). The compiler keeps it complete. */
export const FAILURES: Record<FailureKind, { status: number; title: string }> = {
  badRequest: { status: 400, title: 'Bad Request' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  notFound: { status: 404, title: 'Not Found' },
  methodNotAllowed: { status: 405, title: 'Method Not Allowed' },
  conflict: { status: 409, title: 'Conflict' },
  contentTooLarge: { status: 413, title: 'Content Too Large' },
  unsupportedMediaType: { status: 415, title: 'Unsupported Media Type' },
  unprocessable: { status: 422, title: 'Unprocessable Entity' },
  tooManyRequests: { status: 429, title: 'Too Many Requests' },
  requestTimeout: { status: 408, title: 'Request Timeout' },
  misdirected: { status: 421, title: 'Misdirected Request' },
  headersTooLarge: { status: 431, title: 'Request Header Fields Too Large' },
  internal: { status: 500, title: 'Internal Server Error' },
  badGateway: { status: 502, title: 'Bad Gateway' },
  unavailable: { status: 503, title: 'Service Unavailable' },
  gatewayTimeout: { status: 504, title: 'Gateway Timeout' },
};

/** A failed request, with a public message. `errors` lists the single validation errors, each `location: what is wrong`. */
export class Failure extends Error {
  readonly kind: FailureKind;
  /** True if a `badRequest` conflicts with an existing record (a name is taken, a record is in use). REST does not use it. */
  readonly isClash: boolean;
  readonly errors: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    kind: FailureKind,
    detail: string,
    options: { isClash?: boolean; errors?: readonly string[]; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.kind = kind;
    this.isClash = options.isClash ?? kind === 'conflict';
    this.errors = options.errors;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Returns the failure for a record that is missing or belongs to another user: the same text, so that clients cannot tell which. */
export function notFound(thing: string): Failure {
  return new Failure('notFound', `${thing} not found`);
}

const reported = new WeakSet<object>();

/** Marks an error that one place logs for all that fail of it, such as an outage of the database. */
export function markReported(error: unknown): void {
  if (typeof error === 'object' && error !== null) reported.add(error);
}

/** True when an error, or its cause, is logged elsewhere. */
export function isReported(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  return reported.has(error) || isReported((error as { cause?: unknown }).cause);
}

/** Returns the message of anything thrown, for logs and for reasons shown to operators. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
