import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../core/errors.ts';
import { PROBLEM_JSON, type Problem, renderProblem } from '../http/problem.ts';

/**
 * Request and response on node:http itself. The data plane serves thousands of small exchanges a second, whose payloads
 * it passes on unread: a framework's hooks, schemas and serialisers would cost more than the work.
 */

/** Headers that every answer of a request carries, as name, value, name, value: cheaper than `setHeader` for each. */
const commonHeaders = new WeakMap<ServerResponse, readonly string[]>();

export function setCommonHeaders(res: ServerResponse, headers: readonly string[]): void {
  commonHeaders.set(res, headers);
}

/** Starts the answer: the common headers, then these. */
export function writeHead(res: ServerResponse, status: number, headers: readonly (string | number)[]): void {
  const common = commonHeaders.get(res);
  res.writeHead(status, (common ? [...common, ...headers] : headers) as string[]);
}

export function sendJson(res: ServerResponse, status: number, json: string): void {
  sendBody(res, status, 'application/json', json);
}

export function sendBody(res: ServerResponse, status: number, contentType: string, text: string): void {
  if (res.headersSent || res.destroyed) return;
  writeHead(res, status, ['content-type', contentType, 'content-length', Buffer.byteLength(text)]);
  res.end(text);
}

export function sendNoContent(res: ServerResponse): void {
  if (res.headersSent || res.destroyed) return;
  writeHead(res, 204, []);
  res.end();
}

/** The problem record with its detail repeated as `error`, where older clients of the queue look for it. */
export function problemWithError(problem: Problem): string {
  return JSON.stringify({ ...problem, error: problem.detail });
}

/** Answers with a problem record. Cuts the connection when a response was already started. */
export function sendProblem(res: ServerResponse, error: unknown, headers: readonly string[] = []): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const { status, headers: own, problem } = renderProblem(error);
  const body = problemWithError(problem);
  const framing = ['content-type', PROBLEM_JSON, 'content-length', String(Buffer.byteLength(body))];
  writeHead(res, status, [...headers, ...framing, ...own]);
  res.end(body);
}

/**
 * The whole body. Over the limit: the rest is read and dropped, so that the client gets the answer and not a reset; from
 * four times the limit on the connection is cut.
 */
export function readBody(
  req: IncomingMessage,
  limitBytes: number,
  tooLarge: (limit: number) => Failure,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else chunks.length = 0;
      if (size <= limitBytes * 4) return;
      reject(tooLarge(limitBytes));
      req.destroy();
    });
    req.on('end', () => {
      if (size > limitBytes) reject(tooLarge(limitBytes));
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
    // A connection that closes before the end is an error as well.
    req.on('error', (cause) =>
      reject(new Failure('badRequest', 'the connection was closed before the request was complete', { cause })),
    );
  });
}

/** A query parameter in milliseconds; the fallback when absent. Throws a 400 that names it. */
export function readWaitMs(query: URLSearchParams, fallbackMs: number, maxMs: number): number {
  const text = query.get('wait');
  if (text === null || text === '') return fallbackMs;
  const wait = Number(text);
  if (!Number.isInteger(wait) || wait < 0 || wait > maxMs) {
    throw new Failure(
      'badRequest',
      `wait is '${text.slice(0, 40)}', but must be a whole number of milliseconds from 0 to ${maxMs}`,
    );
  }
  return wait;
}
