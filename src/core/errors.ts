/**
 * The one vocabulary of refusals. Domain code throws a `Failure`; each plane turns it into its own wire form.
 * `detail` is public text; an internal cause goes into `cause`, which never leaves the process except into the log.
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

/** A refusal with public text. `errors` lists single validation failures, each `location: what is wrong`. */
export class Failure extends Error {
  readonly kind: FailureKind;
  /** Of a `badRequest`: it contradicts a record that is there (a name is taken, something is in use). REST makes no difference. */
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

/** A record that is missing or belongs to somebody else: always the same text, so that neither can be told apart. */
export function notFound(thing: string): Failure {
  return new Failure('notFound', `${thing} not found`);
}

/** The text of anything thrown, for logs and for reasons shown to operators. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
