import { FAILURES, type FailureKind } from '../../core/errors.ts';
import { Type } from './type.ts';

export const ErrorResponse = Type.Object(
  {
    title: Type.String({ description: 'Summary of the kind of error.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
    detail: Type.String({ description: 'What went wrong, in words.' }),
    errors: Type.Optional(
      Type.Array(Type.String(), { description: 'Validation failures, each as `location: failure`.' }),
    ),
  },
  { $id: 'ErrorResponse', description: 'The body of every error response.' },
);

const DETAILS: Record<FailureKind, string> = {
  badRequest: 'workers.min (5) must not be greater than workers.max (3)',
  unauthorized: 'invalid bearer token',
  forbidden: 'access denied',
  notFound: 'Endpoint not found',
  methodNotAllowed: 'method not allowed',
  conflict: 'The record has changed meanwhile.',
  contentTooLarge: 'The request body is too large.',
  unsupportedMediaType: 'The request body must be application/json.',
  unprocessable: 'Request validation failed.',
  tooManyRequests: 'rate limit exceeded for the minute window',
  requestTimeout: 'The request headers did not come in time.',
  misdirected: 'This process does not serve the API (role api): it serves jobs and requests (data).',
  headersTooLarge: 'The request headers are larger than 32 KiB.',
  internal: 'An unexpected error occurred.',
  badGateway: 'The upstream server failed to respond.',
  unavailable: 'The database is not reachable.',
  gatewayTimeout: 'The upstream server did not respond in time.',
};

/** The error record that a client may get for this kind of failure. */
export function problemExample(kind: FailureKind): object {
  const { status, title } = FAILURES[kind];
  const errors = ["/gpu: additional property 'type' is not allowed", '/workers/max: must be >= 0'];
  return { title, status, detail: DETAILS[kind], ...(kind === 'unprocessable' && { errors }) };
}
