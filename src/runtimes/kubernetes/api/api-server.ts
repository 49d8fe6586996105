import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, messageOf } from '../../../core/errors.ts';
import { request as httpRequest, refuseUpgrade } from '../../../core/node-http.ts';
import { isRefusal, Refusal } from '../../../engine/refusal.ts';
import { CHANNEL_PROTOCOLS, upgradeHeaders } from '../streams/pod-channels.ts';
import type { ApiOutage } from './api-outage.ts';
import type { ClusterAccess } from './cluster-access.ts';

/** A refusal of the API server, in its words. `reason` is its code, e.g. AlreadyExists. */
export class ApiError extends Refusal {
  override readonly name = 'ApiError';
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(status, message);
    this.reason = reason;
  }
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Starts with a slash, without a query. */
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
/** Retries on 429. A busy server answers before it does anything, so retrying is safe. */
const BUSY_TRIES = 5;
const LONGEST_PAUSE_MS = 5_000;

/**
 * JSON requests to a Kubernetes API server, without generated clients or caching. Each has a timeout up to its response.
 * Rejects with an ApiError when the server refuses, and with a Failure `unavailable` when it does not answer or fails.
 */
export class ApiServer {
  readonly #open: () => Promise<ClusterAccess>;
  readonly #outage: Pick<ApiOutage, 'failed' | 'answered'> | null;
  #access: Promise<ClusterAccess> | undefined;
  /** Requests so far, for benchmarks. */
  requests = 0;

  /** Sends no request before the first call. `outage` is notified of successes and failures. */
  constructor(open: () => Promise<ClusterAccess>, outage: Pick<ApiOutage, 'failed' | 'answered'> | null = null) {
    this.#open = open;
    this.#outage = outage;
  }

  access(): Promise<ClusterAccess> {
    this.#access ??= this.#open().catch((error) => {
      this.#access = undefined;
      throw error;
    });
    return this.#access;
  }

  /** Resolves with the parsed JSON body. */
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

  /** Resolves with the body as a stream. The caller reads or destroys it; aborting `signal` destroys it too. */
  stream(request: ApiRequest): Promise<IncomingMessage> {
    return this.#send(request, true);
  }

  /**
   * Resolves with a WebSocket connection of the channel protocol. Repeated only when an idle connection was found closed: else
   * a program may have been started.
   */
  async upgrade(path: string, search: URLSearchParams, isLast = false): Promise<{ socket: Socket; protocol: string }> {
    const access = await this.access();
    this.requests += 1;
    try {
      const answer = await dialUpgrade(access, path, search, await access.credentials(true));
      this.#outage?.answered();
      return answer;
    } catch (error) {
      if (isRefusal(error, 401)) access.forget();
      if (error instanceof StaleConnection && !isLast) return this.upgrade(path, search, true);
      throw this.#noted(error);
    }
  }

  async close(): Promise<void> {
    (await this.#access?.catch(() => undefined))?.close();
  }

  /** Retries once: with new credentials after a 401, and when the server had closed an idle connection. */
  async #send(request: ApiRequest, isLong: boolean, isLast = false): Promise<IncomingMessage> {
    const access = await this.access();
    this.requests += 1;
    try {
      const answer = await dial(access, request, await access.credentials(isLong));
      this.#outage?.answered();
      const { statusCode = 0 } = answer;
      if (statusCode < 300) return answer;
      throw refusal(statusCode, await textOf(answer, request), answer.headers['retry-after']);
    } catch (error) {
      if (request.signal?.aborted) throw error;
      if (isLast) throw this.#noted(error);
      if (isRefusal(error, 401)) access.forget();
      else if (!(error instanceof StaleConnection)) throw this.#noted(error);
      return this.#send(request, isLong, true);
    }
  }

  #noted(error: unknown): unknown {
    if (error instanceof Unanswered) this.#outage?.failed(error);
    return error;
  }
}

/** The server gave no answer. */
class Unanswered extends Failure {}

/** The server closed an idle connection just as it was reused: it has not seen the request. */
class StaleConnection extends Unanswered {}

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
  const text = body === undefined ? undefined : JSON.stringify(body);
  const send = requestTo(access);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      clearTimeout(timer);
      const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      reject(signal?.aborted ? signal.reason : away(error, isStale ? StaleConnection : Unanswered));
    };
    const request = send(
      {
        ...credentials,
        ...placeOf(access, path, search),
        method,
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
    // The timeout starts with the connection: before that, the request only waits for others in the pool.
    request.once('socket', () => {
      timer = setTimeout(
        () => request.destroy(new Error(`no answer within ${seconds} s (${method} ${path})`)),
        timeoutMs,
      );
    });
    refuseUpgrade(request).on('error', fail);
    request.end(text);
  });
}

function dialUpgrade(
  access: ClusterAccess,
  path: string,
  search: URLSearchParams,
  credentials: Awaited<ReturnType<ClusterAccess['credentials']>>,
): Promise<{ socket: Socket; protocol: string }> {
  const { headers, accept } = upgradeHeaders();
  return new Promise((resolve, reject) => {
    const request = requestTo(access)({
      ...credentials,
      ...placeOf(access, path, search),
      method: 'GET',
      timeout: TIMEOUT_MS,
      headers: { ...(credentials.headers as object), 'user-agent': 'podyard', ...headers },
    });
    request.once('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s (GET ${path})`)));
    request.once('error', (error) => {
      const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      reject(away(error, isStale ? StaleConnection : Unanswered));
    });
    request.once('response', (answer) => {
      textOf(answer, { method: 'GET', path }).then(
        (text) => reject(refusal(answer.statusCode ?? 0, text, answer.headers['retry-after'])),
        reject,
      );
    });
    request.once('upgrade', (answer, socket: Socket, head) => {
      const protocol = String(answer.headers['sec-websocket-protocol'] ?? '');
      if (answer.headers['sec-websocket-accept'] !== accept || !CHANNEL_PROTOCOLS.includes(protocol)) {
        socket.destroy();
        reject(away(new Error(`it does not speak ${CHANNEL_PROTOCOLS.join(' or ')}`)));
        return;
      }
      socket.setTimeout(0);
      socket.setNoDelay(true);
      if (head.length > 0) socket.unshift(head);
      resolve({ socket, protocol });
    });
    request.end();
  });
}

function requestTo({ server }: ClusterAccess): typeof httpRequest {
  return server.protocol === 'https:' ? httpsRequest : httpRequest;
}

function placeOf({ server }: ClusterAccess, path: string, search: URLSearchParams) {
  const { protocol, hostname, port, pathname } = server;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (protocol === 'https:' ? 443 : 80),
    path: `${pathname.replace(/\/$/, '')}${path}${search.size > 0 ? `?${search}` : ''}`,
  };
}

/** Reads the whole body, within the request's timeout. */
async function textOf(answer: IncomingMessage, { timeoutMs = TIMEOUT_MS, method, path }: ApiRequest): Promise<string> {
  const timer = setTimeout(() => answer.destroy(new Error(`the response did not end (${method} ${path})`)), timeoutMs);
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

function away(error: unknown, Kind: typeof Unanswered = Unanswered): Failure {
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
