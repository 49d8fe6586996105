import { REST_REVISIONS, REVISION_HEADER } from '../../core/rest-revisions.ts';
import type { Target } from './contexts.ts';

/** An error response of the server, with its text. */
export class ApiRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A client of the public API. Throws `ApiRefusal` for every unsuccessful response. */
export class ApiClient {
  readonly target: Target;
  readonly #signal: AbortSignal;

  constructor(target: Target, signal: AbortSignal) {
    this.target = target;
    this.#signal = signal;
  }

  /** Resolves with the response's JSON; undefined if it has no body. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const text = await (await this.send(method, path, { body })).text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /**
   * Yields the data of server-sent events until the stream ends, `signal` aborts, or Ctrl-C. `onOpen` is called for each
   * chunk; the first one of a log holds the lines stored so far.
   */
  async *events(path: string, signal = this.#signal, onOpen = () => {}): AsyncGenerator<string> {
    const either = AbortSignal.any([signal, this.#signal]);
    const response = await this.send('GET', path, { signal: either });
    let text = '';
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        onOpen();
        const events = (text + chunk).split('\n\n');
        text = events.pop()!;
        for (const event of events) {
          const data = event.split('\n').find((line) => line.startsWith('data: '));
          if (data !== undefined) yield data.slice(6);
        }
      }
    } catch (error) {
      if (!either.aborted) throw error;
    }
  }

  /** `body` is sent as JSON, `raw` as it is. */
  async send(
    method: string,
    path: string,
    options: {
      body?: unknown;
      raw?: Uint8Array<ArrayBuffer>;
      headers?: Record<string, string>;
      signal?: AbortSignal;
    } = {},
  ): Promise<Response> {
    const { url, key } = this.target;
    const { signal = this.#signal } = options;
    const hasBody = options.body !== undefined;
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        [REVISION_HEADER]: REST_REVISIONS[0],
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
        ...options.headers,
      },
      ...(hasBody ? { body: JSON.stringify(options.body) } : {}),
      ...(options.raw ? { body: options.raw } : {}),
      signal,
    }).catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new ApiRefusal(0, `${url} cannot be reached: is the server running?`);
    });
    if (!response.ok) throw await refusalOf(response);
    return response;
  }
}

async function refusalOf(response: Response): Promise<ApiRefusal> {
  const problem = (await response.json().catch(() => ({}))) as {
    detail?: string;
    error?: string | { message: string };
    errors?: string[];
  };
  const own = typeof problem.error === 'object' ? problem.error.message : problem.error;
  const detail = problem.detail ?? own ?? `the server responded with ${response.status}`;
  const wait = response.headers.get('retry-after');
  const lines = [
    wait ? `${detail}; try again in ${wait} s` : detail,
    ...(problem.errors ?? []).map((line) => `  ${line}`),
  ];
  return new ApiRefusal(response.status, lines.join('\n'));
}

/** Exit statuses for scripts: 3 API key refused, 4 not found, 5 invalid request, 6 retry later, 7 job failed, 1 other. */
export function exitStatusOf(error: unknown): number {
  if (error instanceof JobFailed) return 7;
  if (!(error instanceof ApiRefusal)) return 1;
  const { status } = error;
  if (status === 401 || status === 403) return 3;
  if (status === 404) return 4;
  if (status === 0 || status === 429 || status >= 500) return 6;
  return 5;
}

/** A job ended in another state than COMPLETED. */
export class JobFailed extends Error {}
