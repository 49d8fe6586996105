import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** The outcome of a request; `status` is 0 without an answer. */
export interface WebAnswer {
  status: number;
  worker: string | undefined;
  text: string;
  ms: number;
  headers: Record<string, string | string[] | undefined>;
}

const TIMEOUT_MS = 60_000;

/** A client of a load-balancing endpoint with persistent connections. Nothing is retried. */
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

/** Sends requests at a steady rate until `end`, however slow the answers are. */
export class WebLoad {
  readonly #answers: Promise<WebAnswer>[] = [];
  readonly #sending: Promise<void>;
  #served = 0;
  #onServed = () => {};
  #isOver = false;

  constructor(client: WebClient, path: string, perSecond: number) {
    this.#sending = this.#send(client, path, perSecond);
  }

  /** Resolves when `count` more requests have been answered. */
  async served(count: number): Promise<void> {
    const goal = this.#served + count;
    while (this.#served < goal) {
      await new Promise<void>((resolve) => {
        this.#onServed = resolve;
      });
    }
  }

  /** Stops sending. Resolves with the outcomes of all requests. */
  async end(): Promise<WebAnswer[]> {
    this.#isOver = true;
    await this.#sending;
    return Promise.all(this.#answers);
  }

  async #send(client: WebClient, path: string, perSecond: number): Promise<void> {
    const from = performance.now();
    while (!this.#isOver) {
      const due = Math.ceil(((performance.now() - from) / 1000) * perSecond) + 1;
      while (this.#answers.length < due) this.#answers.push(this.#get(client, path));
      await sleep(10);
    }
  }

  async #get(client: WebClient, path: string): Promise<WebAnswer> {
    const answer = await client.get(path);
    this.#served += 1;
    this.#onServed();
    return answer;
  }
}
