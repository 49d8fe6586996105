import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, messageOf } from '../../core/errors.ts';
import type { ClusterAccess } from './cluster-access.ts';

/** What the API server refused. `message` is in its words, `reason` is its word for it, e.g. AlreadyExists. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
  }
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Begins with a slash, holds no query. */
  path: string;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: object;
  contentType?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';
export const APPLY_PATCH = 'application/apply-patch+yaml';

const TIMEOUT_MS = 20_000;
/** A server that is busy says so before it does anything: asking again is safe. */
const BUSY_TRIES = 5;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Requests to a Kubernetes API server, as JSON; nothing generated is on the way, and nothing is kept of an answer. Each has a time limit
 * up to its answer. Rejects with an ApiError for what the server refused, with a Failure `unavailable` when it does not
 * answer, or is in no state to.
 */
export class ApiServer {
  readonly #open: () => Promise<ClusterAccess>;
  #access: Promise<ClusterAccess> | undefined;
  /** Requests so far, for whoever measures. */
  requests = 0;

  /** Nothing is read or asked before the first request. */
  constructor(open: () => Promise<ClusterAccess>) {
    this.#open = open;
  }

  access(): Promise<ClusterAccess> {
    this.#access ??= this.#open().catch((error) => {
      this.#access = undefined;
      throw error;
    });
    return this.#access;
  }

  /** The parsed JSON of the answer. */
  async json<T>(request: ApiRequest): Promise<T> {
    for (let left = BUSY_TRIES; ; left--) {
      try {
        return JSON.parse(await textOf(await this.#send(request, false), request)) as T;
      } catch (error) {
        if (!(error instanceof BusyError) || left === 1) throw error;
        await sleep(Math.min(LONGEST_PAUSE_MS, error.pauseMs), undefined, { ref: false });
      }
    }
  }

  /** The body as it comes. The caller reads or destroys it; aborting `signal` destroys it too. */
  stream(request: ApiRequest): Promise<IncomingMessage> {
    return this.#send(request, true);
  }

  async close(): Promise<void> {
    (await this.#access?.catch(() => undefined))?.close();
  }

  /** Once more with new credentials where the old ones are refused, and where a connection was given up while it rested. */
  async #send(request: ApiRequest, isLong: boolean, isLast = false): Promise<IncomingMessage> {
    const access = await this.access();
    this.requests += 1;
    try {
      const answer = await dial(access, request, await access.credentials(isLong));
      const { statusCode = 0 } = answer;
      if (statusCode < 300) return answer;
      throw refusal(statusCode, await textOf(answer, request), answer.headers['retry-after']);
    } catch (error) {
      if (isLast || request.signal?.aborted) throw error;
      if (isRefusal(error, 401)) access.forget();
      else if (!(error instanceof RestedConnection)) throw error;
      return this.#send(request, isLong, true);
    }
  }
}

/** The server closed it when it was about to be used again: nobody has seen the request. */
class RestedConnection extends Failure {}

class BusyError extends Failure {
  readonly pauseMs: number;

  constructor(detail: string, retryAfter: string | undefined) {
    super('unavailable', detail);
    const seconds = Number(retryAfter);
    this.pauseMs = seconds >= 0 ? seconds * 1000 * (0.5 + Math.random()) : 500;
  }
}

function dial(
  access: ClusterAccess,
  { method, path, query, body, contentType, timeoutMs = TIMEOUT_MS, signal }: ApiRequest,
  credentials: Awaited<ReturnType<ClusterAccess['credentials']>>,
): Promise<IncomingMessage> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value));
  const { protocol, hostname, port, pathname } = access.server;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const send = protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      clearTimeout(timer);
      const isRested = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      reject(signal?.aborted ? signal.reason : away(error, isRested ? RestedConnection : Failure));
    };
    const request = send(
      {
        ...credentials,
        method,
        host: hostname.replace(/^\[|\]$/g, ''),
        port: port || (protocol === 'https:' ? 443 : 80),
        path: `${pathname.replace(/\/$/, '')}${path}${search.size > 0 ? `?${search}` : ''}`,
        headers: {
          ...(credentials.headers as object),
          accept: 'application/json',
          'user-agent': 'podyard',
          ...(text !== undefined && {
            'content-type': contentType ?? 'application/json',
            'content-length': Buffer.byteLength(text),
          }),
        },
        ...(signal && { signal }),
      },
      (answer) => {
        clearTimeout(timer);
        resolve(answer);
      },
    );
    const seconds = timeoutMs / 1000;
    let timer: NodeJS.Timeout | undefined;
    // Whoever waits for a connection waits for those before it, not for the server.
    request.once('socket', () => {
      timer = setTimeout(
        () => request.destroy(new Error(`there was no answer within ${seconds} s (${method} ${path})`)),
        timeoutMs,
      );
    });
    request.on('error', fail);
    request.end(text);
  });
}

/** The whole body, within the request's time limit. */
async function textOf(answer: IncomingMessage, { timeoutMs = TIMEOUT_MS, method, path }: ApiRequest): Promise<string> {
  const timer = setTimeout(() => answer.destroy(new Error(`the answer did not end (${method} ${path})`)), timeoutMs);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer);
  } catch (error) {
    throw away(error);
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).toString();
}

function away(error: unknown, Kind: typeof Failure = Failure): Failure {
  return new Kind('unavailable', `The Kubernetes API server does not answer: ${messageOf(error)}`, { cause: error });
}

/** The members used of a `Status`. */
interface Status {
  message?: string;
  reason?: string;
}

function refusal(status: number, text: string, retryAfter: string | undefined): Error {
  const { message, reason = '' } = statusOf(text);
  const words = message ?? (text.trim().slice(0, 300) || `status ${status}`);
  if (status === 429) return new BusyError(`The Kubernetes API server is busy: ${words}`, retryAfter);
  const error = new ApiError(status, reason, words);
  if (status >= 500) return new Failure('unavailable', `The Kubernetes API server failed: ${words}`, { cause: error });
  return error;
}

function statusOf(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return {};
  }
}

/** Whether the API server refused with this status, and, where one status means several things, with such words. */
export function isRefusal(error: unknown, status: number, words?: RegExp): error is ApiError {
  return error instanceof ApiError && error.status === status && (words?.test(error.message) ?? true);
}
