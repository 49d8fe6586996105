import { randomBytes } from 'node:crypto';
import { FAILURES, type Failure, isReported, messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { asciiJson } from '../core/text/ascii-json.ts';
import { openAiRoute, renderOpenAiError } from './openai-error.ts';
import { toFailure } from './to-failure.ts';

export const PROBLEM_JSON = 'application/problem+json';

/** The error record of docs/interface/rest.md, "Errors". */
export interface Problem {
  title: string;
  status: number;
  detail: string;
  errors?: readonly string[];
}

/** A failure as an HTTP response. Each plane sends it in its own way. */
export interface RenderedProblem {
  status: number;
  /** `WWW-Authenticate` and `Retry-After` where they apply, as name, value, name, value. */
  headers: string[];
  problem: Problem;
}

/** Renders anything thrown. A `Failure` is shown as it is; what `toFailure` makes of the rest never shows its text. */
export function renderProblem(thrown: unknown): RenderedProblem {
  const failure = toFailure(thrown);
  const { status, title } = FAILURES[failure.kind];
  const headers: string[] = [];
  if (status === 401) headers.push('WWW-Authenticate', 'Bearer');
  if (failure.retryAfterSeconds !== undefined) headers.push('Retry-After', String(failure.retryAfterSeconds));
  const { message: detail, errors } = failure;
  return { status, headers, problem: { title, status, detail, ...(errors === undefined ? {} : { errors }) } };
}

/**
 * A complete HTTP/1.1 response that closes its connection: for what could not be read as a request. `url`: the request's, where
 * it is known.
 */
export function rawProblem(failure: Failure, url = ''): string {
  const { status, problem } = renderProblem(failure);
  const route = openAiRoute(url);
  const body = route === null ? asciiJson(problem) : renderOpenAiError(route, { status, message: problem.detail });
  return (
    `HTTP/1.1 ${status} ${problem.title}\r\nContent-Type: ${route === null ? PROBLEM_JSON : 'application/json'}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nx-request-id: ${newRequestId()}\r\n` +
    `Cache-Control: no-store\r\nConnection: close\r\n\r\n${body}`
  );
}

/** Logs why a request failed with a 5xx: its cause, which the client never sees. An outage of the database is logged once. */
export function logFailure(logger: Logger, failure: Failure, fields: object): void {
  if (isReported(failure)) return;
  const err = failure.cause ?? failure;
  logger.error({ ...fields, err }, `request failed: ${messageOf(err)}`);
}

const prefix = randomBytes(6).toString('hex');
let count = 0;

/** Returns an id that is unique across processes and restarts: a random prefix per process and a counter. */
export function newRequestId(): string {
  count += 1;
  return `${prefix}-${count.toString(36)}`;
}
