import { Failure } from '../core/errors.ts';
import { asciiJson } from '../core/text/ascii-json.ts';
import type { CallRequest, CallResponse } from '../http/call-messages.ts';
import { openAiRoute, renderOpenAiError } from '../http/openai-error.ts';
import { PROBLEM_JSON, type Problem, type RenderedProblem, renderProblem } from '../http/problem.ts';
import { drainBody, hasRest } from './read-body.ts';

/**
 * Requests and their responses. The data plane serves thousands of small requests per second and passes their
 * payloads on unread: a framework's hooks, schemas and serializers would cost more than the work.
 */

const commonHeaders = Symbol('commonHeaders');
/** A property, not an entry of a WeakMap, which would keep responses in memory for longer (core/roster.ts). */
type WithCommonHeaders = CallResponse & { [commonHeaders]?: readonly string[] };

/** Headers of every response to a request, as name, value, name, value: cheaper than a `setHeader` for each. */
export function setCommonHeaders(res: WithCommonHeaders, headers: readonly string[]): void {
  res[commonHeaders] = headers;
}

/** Starts the response: the common headers, then these. */
export function writeHead(res: WithCommonHeaders, status: number, headers: readonly (string | number)[]): void {
  const common = res[commonHeaders];
  res.writeHead(status, (common ? [...common, ...headers] : headers) as string[]);
}

export function sendJson(res: CallResponse, status: number, json: string): void {
  sendBody(res, status, 'application/json', json);
}

export function sendBody(
  res: CallResponse,
  status: number,
  contentType: string,
  text: string,
  headers: readonly string[] = [],
): void {
  if (res.headersSent || res.destroyed) return;
  writeHead(res, status, ['content-type', contentType, 'content-length', Buffer.byteLength(text), ...headers]);
  res.end(text);
}

export function sendNoContent(res: CallResponse, headers: readonly string[] = []): void {
  if (res.headersSent || res.destroyed) return;
  writeHead(res, 204, [...headers]);
  res.end();
}

/** The problem record with its detail repeated as `error`, which older clients of the queue read. */
export function problemWithError(problem: Problem): string {
  return asciiJson({ ...problem, error: problem.detail });
}

/** Renders a refusal as the clients of the path read it. */
function refusalBody({ url }: CallRequest, { status, problem }: RenderedProblem): { type: string; body: string } {
  const route = openAiRoute(url!);
  if (route === null) return { type: PROBLEM_JSON, body: problemWithError(problem) };
  return { type: 'application/json', body: renderOpenAiError(route, { status, message: problem.detail }) };
}

/**
 * Responds with a problem record, or the error object of an OpenAI route; cuts the connection if a response was already started.
 * The response ends when the request's body has been drained: a connection that is closed with unread data is reset, and clients
 * would miss it.
 */
export function sendProblem(res: CallResponse, error: unknown, headers: readonly string[] = []): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const rendered = renderProblem(error);
  const { type, body } = refusalBody(res.req, rendered);
  const framing = ['content-type', type, 'content-length', String(Buffer.byteLength(body))];
  writeHead(res, rendered.status, [...headers, ...framing, ...rendered.headers]);
  if (!hasRest(res.req)) return void res.end(body);
  res.write(body);
  drainBody(res.req, () => res.end());
}

/** Reads `wait` in milliseconds; the fallback when absent. Throws `badRequest` for a value out of range. */
export function readWaitMs(query: URLSearchParams, fallbackMs: number, maxMs: number): number {
  const text = query.get('wait');
  if (text === null || text === '') return fallbackMs;
  const wait = Number(text);
  if (!Number.isInteger(wait) || wait < 0 || wait > maxMs) {
    throw new Failure(
      'badRequest',
      `wait: '${text.slice(0, 40)}' is not a whole number of milliseconds from 0 to ${maxMs}`,
    );
  }
  return wait;
}
