import { setTimeout as sleep } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { REST_REVISIONS, REVISION_HEADER } from '../../core/rest-revisions.ts';
import { TEAM_HEADER } from '../../core/team-header.ts';
import { wordFieldError } from '../../core/text/field-words.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Method, PathWith, Request, Result } from './api-types.ts';
import { type Answer, exchange, exchangeByFetch, type Sent } from './exchange.ts';
import { explainUnreachable } from './unreachable.ts';

/** A server, a key for it, and the account it is used for. */
export interface Target {
  url: string;
  /** Empty for what needs none. */
  key: string;
  /** Its id, if `podyard login` made it: `podyard logout` revokes it. */
  keyId?: string;
  /** The team to act for, by name or id. Absent: the key's own account. */
  team?: string;
}

/** An error response of the server, with its text. */
export class ApiRefusal extends Error {
  readonly status: number;
  /** Null: the server did not say when to try again. */
  readonly retryAfterSeconds: number | null;

  constructor(status: number, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The response is not JSON: something else than Podyard answers. */
export class NotJson extends SyntaxError {}

/** Between two attempts to reach a server that went away, and for how long they are made without getting further. */
export const AGAIN_MS = 500;
export const AWAY_MS = 60_000;

/** A client of the public API. Throws `ApiRefusal` for every unsuccessful response. */
export class ApiClient {
  readonly target: Target;
  readonly #signal: AbortSignal;
  readonly #env: Terminal['env'];

  constructor(target: Target, { interrupted, env }: Pick<Terminal, 'interrupted' | 'env'>) {
    this.target = target;
    this.#signal = interrupted;
    this.#env = env;
  }

  /** Calls an operation of the API's description. Resolves with the response's JSON; undefined if it has no body. */
  call<M extends Method, P extends PathWith<M>>(
    method: M,
    path: P,
    ...[request]: object extends Request<M, P> ? [Request<M, P>?] : [Request<M, P>]
  ): Promise<Result<M, P>> {
    const { path: names = {}, query, body } = (request ?? {}) as AnyRequest;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name]!));
    return this.json(method.toUpperCase(), `${filled}${queryText(query)}`, body);
  }

  /** Calls what the description does not have: the queue API, another revision, and bytes. The caller knows the type. */
  async json<T>(method: string, path: string, body?: unknown, more: Omit<Options, 'body'> = {}): Promise<T> {
    const answer = await this.#exchange(method, path, { body, ...more });
    const text = await answer.text();
    if (text === '') return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch {
      const type = answer.headers.get('content-type')?.split(';', 1)[0] ?? 'no type';
      throw new NotJson(`${this.target.url} is not a Podyard server, or something in between answers: it sent ${type}`);
    }
  }

  /**
   * Yields the data of server-sent events until `signal` aborts, Ctrl-C, or what they are about is gone. A connection that ends is
   * made again, from the last event on: a server that restarts loses none. Throws `ApiRefusal`, with 0 if the server stays away.
   */
  async *events(path: string, signal = this.#signal): AsyncGenerator<string> {
    const either = AbortSignal.any([signal, this.#signal]);
    let lastId = '';
    let answer: Answer | null = await this.#exchange('GET', path, { signal: either });
    while (answer !== null) {
      try {
        for await (const { id, data } of eventsOf(answer.texts())) {
          lastId = id ?? lastId;
          yield data;
        }
      } catch {
        // The connection broke.
      }
      if (either.aborted) return;
      answer = await this.#exchangeAgain(path, either, lastId);
    }
  }

  /** Asks for a stream again until the server is back. Null: what it is about is gone, or `signal` aborted. Throws `ApiRefusal`. */
  async #exchangeAgain(path: string, signal: AbortSignal, lastId: string): Promise<Answer | null> {
    const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
    for (const lostAt = performance.now(); ; ) {
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return null;
      try {
        return await this.#exchange('GET', path, { signal, headers });
      } catch (error) {
        if (signal.aborted || (error as ApiRefusal).status === 404) return null;
        const mayComeBack = error instanceof ApiRefusal && (error.status === 0 || error.status >= 500);
        if (!mayComeBack || performance.now() - lostAt > AWAY_MS) throw error;
      }
    }
  }

  /** Resolves with the response, whose body may be large. `onSent` is called with the bytes of a Blob as they are sent. */
  send(
    method: string,
    path: string,
    options: Omit<Options, 'raw'> & { raw?: Options['raw'] | Blob; onSent?: (bytes: number) => void } = {},
  ): Promise<Response> {
    const { raw, onSent, ...more } = options;
    if (!(raw instanceof Blob)) return this.#request(fetch, method, path, { ...more, ...(raw && { raw }) });
    const headers = { ...(onSent && { 'content-length': String(raw.size) }), ...more.headers }; // else a stream is sent in chunks of unknown number
    const body = onSent ? { body: counted(raw, onSent), duplex: 'half' as const } : { body: raw };
    return this.#request((url, sent) => fetch(url, { ...sent, ...body }), method, path, { ...more, headers });
  }

  #exchange(method: string, path: string, options: Options): Promise<Answer> {
    const transport = this.#env.NODE_USE_ENV_PROXY === '1' ? exchangeByFetch : exchange;
    return this.#request(transport, method, path, options);
  }

  async #request<T extends Pick<Answer, 'ok' | keyof Refused>>(
    transport: (url: string, sent: Sent) => Promise<T>,
    method: string,
    path: string,
    { body, raw, headers, signal = this.#signal }: Options,
  ): Promise<T> {
    const { url, key, team } = this.target;
    const content = body === undefined ? raw : JSON.stringify(body);
    const answer = await transport(url + path, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        'user-agent': 'podyard-cli', // the audit log names it
        [REVISION_HEADER]: REST_REVISIONS[0],
        ...(team !== undefined && { [TEAM_HEADER]: team }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(content !== undefined && { body: content }),
      signal,
    }).catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new ApiRefusal(0, explainUnreachable(url, cause, this.#env));
    });
    if (!answer.ok) throw await refusalOf(answer, { url, method, hasKey: key !== '' });
    return answer;
  }
}

/** `body` is sent as JSON, `raw` as it is. */
interface Options {
  body?: unknown;
  raw?: Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function* eventsOf(texts: AsyncIterable<string>): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  for await (const text of texts) {
    parser.feed(text);
    yield* events.splice(0);
  }
}

function counted(raw: Blob, onSent: (bytes: number) => void): ReadableStream<Uint8Array> {
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onSent(chunk.length);
      controller.enqueue(chunk);
    },
  });
  return raw.stream().pipeThrough(counter);
}

interface AnyRequest {
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Returns a query with its `?`, without what is undefined; empty if nothing is left. */
export function queryText(query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

interface Problem {
  detail?: string;
  error?: string | { message: string };
  errors?: string[];
}

/** The parts of a response that explain a refusal. */
type Refused = Pick<Answer, 'status' | 'url' | 'redirected' | 'headers' | 'text'>;

async function refusalOf(
  response: Refused,
  { url, method, hasKey }: { url: string; method: string; hasKey: boolean },
): Promise<ApiRefusal> {
  const { status } = response;
  const problem = readProblem(await response.text().catch(() => ''));
  if (problem === undefined && method === 'HEAD') return new ApiRefusal(status, `the server responded with ${status}`);
  if (problem === undefined) return new ApiRefusal(status, foreignAnswer(response, url));
  const own = typeof problem.error === 'object' ? problem.error.message : problem.error;
  const detail = problem.detail ?? own ?? `the server responded with ${status}`;
  const wait = response.headers.get('retry-after');
  const sentence = detail === DENIED ? scopeMissing(`${method} ${new URL(response.url).pathname}`) : detail;
  const hint =
    status === 401 && hasKey
      ? `: your key for ${url} is wrong, revoked or expired. Sign in with \`podyard login ${url}\``
      : '';
  const lines = [
    wait ? `${detail.replace(/\.$/, '')}; try again in ${wait} s` : `${sentence}${hint}`,
    ...(problem.errors ?? []).map((error) => `  ${wordFieldError(error).text}`),
  ];
  return new ApiRefusal(status, lines.join('\n'), wait === null ? null : Number(wait));
}

/** An error of the API, or of S3, whose errors are XML. */
function readProblem(text: string): Problem | undefined {
  try {
    return JSON.parse(text) as Problem;
  } catch {
    const [, rest] = text.startsWith('<?xml') ? text.split('<Message>', 2) : [];
    const detail = rest?.split('</Message>', 1)[0];
    return detail === undefined ? undefined : { detail: detail.replaceAll('&apos;', "'").replaceAll('&quot;', '"') };
  }
}

/** The server's answer to a request that no scope of the key covers. */
const DENIED = 'access denied';
const NO_SCOPE = `${DENIED}: no scope of your key covers`;

/** True for the refusal of a request that no scope of the key covers. */
export function isScopeMissing(error: unknown): boolean {
  return error instanceof ApiRefusal && error.status === 403 && error.message.startsWith(NO_SCOPE);
}

function scopeMissing(request: string): string {
  return `${NO_SCOPE} ${request}. \`podyard keys create --scope\` makes one that may, where your role allows it`;
}

/** Explains a refusal that is not Podyard's. */
function foreignAnswer({ status, redirected, url: answered }: Refused, url: string): string {
  if (redirected)
    return `${url} leads to ${new URL(answered).origin}, which responded with ${status}: use the URL of the server itself`;
  if (status >= 502 && status <= 504)
    return `a proxy in front of ${url} responded with ${status}: the server behind it may be down`;
  return `${url} responded with ${status}, and not as a Podyard server does: check the address`;
}

/**
 * Exit statuses for scripts: 3 API key refused, 4 not found, 5 invalid request, 6 retry later, 7 job failed, 8 release failed,
 * 9 build failed, 1 other.
 */
export function exitStatusOf(error: unknown): number {
  if (error instanceof JobFailed) return 7;
  if (error instanceof ReleaseFailed) return 8;
  if (error instanceof BuildFailed) return 9;
  if (!(error instanceof ApiRefusal)) return 1;
  const { status } = error;
  if (status === 401 || status === 403) return 3;
  if (status === 404) return 4;
  if (status === 0 || status === 429 || status >= 500) return 6;
  return 5;
}

/** A job ended in another state than COMPLETED. */
export class JobFailed extends Error {}

/** No worker of a release becomes ready. */
export class ReleaseFailed extends Error {}

/** A build ended without an image. */
export class BuildFailed extends Error {}
