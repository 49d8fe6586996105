import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** What became of one request; `status` 0 when there was no answer. */
export interface WebAnswer {
  status: number;
  worker: string | undefined;
  text: string;
  ms: number;
  headers: Record<string, string | string[] | undefined>;
}

const TIMEOUT_MS = 60_000;

/** A client of a load-balancing endpoint, with connections that it keeps. Nothing is tried again. */
export class WebClient {
  readonly #base: URL;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(server: { url: string; key: string }, endpointId: string) {
    this.#base = new URL(`${server.url}/v2/${endpointId}/lb`);
    this.#key = server.key;
  }

  close(): void {
    this.#agent.destroy();
  }

  call(method: string, path: string, headers: Record<string, string> = {}): Promise<WebAnswer> {
    const from = performance.now();
    return new Promise((resolve) => {
      const settle = (status: number, text: string, all: WebAnswer['headers'] = {}) =>
        resolve({
          status,
          text,
          headers: all,
          worker: all['x-runpod-worker-id'] as string | undefined,
          ms: performance.now() - from,
        });
      const req = request(
        {
          hostname: this.#base.hostname,
          port: this.#base.port,
          method,
          path: this.#base.pathname + path,
          headers: { authorization: `Bearer ${this.#key}`, ...headers },
          agent: this.#agent,
          signal: AbortSignal.timeout(TIMEOUT_MS),
        },
        (res) => {
          let text = '';
          res.on('data', (chunk) => {
            text += chunk;
          });
          res.on('end', () => settle(res.statusCode!, text, res.headers));
          res.on('error', (error) => settle(0, error.message));
        },
      );
      req.on('error', (error) => settle(0, error.message));
      req.end();
    });
  }

  get(path: string, headers?: Record<string, string>): Promise<WebAnswer> {
    return this.call('GET', path, headers);
  }
}

/** Sends `perSecond` requests a second, however slow the answers are, until `isOver`; at least one batch. */
export async function webLoad(
  client: WebClient,
  path: string,
  perSecond: number,
  isOver: () => boolean,
): Promise<WebAnswer[]> {
  const answers: Promise<WebAnswer>[] = [];
  const from = performance.now();
  do {
    const due = Math.ceil(((performance.now() - from) / 1000) * perSecond) + 1;
    while (answers.length < due) answers.push(client.get(path));
    await sleep(10);
  } while (!isOver());
  return Promise.all(answers);
}
