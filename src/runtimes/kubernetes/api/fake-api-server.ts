import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiServer } from './api-server.ts';
import { openAccess } from './cluster-access.ts';
import type { ApiObject } from './objects.ts';

/** A fake API server that does what a real one does not do on demand: hang, forget, break off. */
export class FakeApiServer {
  readonly api: ApiServer;
  /** Requests so far, as `<method> <path>?<query>`. */
  readonly requests: string[] = [];
  readonly #server = createServer((request, response) => this.#take(request, response));
  #port = 0;
  readonly #waiting: (() => void)[] = [];
  answer: (request: URL, response: ServerResponse, method: string) => void;

  static async start(answer: FakeApiServer['answer']): Promise<FakeApiServer> {
    const fake = new FakeApiServer(answer);
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    fake.#port = (fake.#server.address() as AddressInfo).port;
    return fake;
  }

  private constructor(answer: FakeApiServer['answer']) {
    this.answer = answer;
    this.api = new ApiServer(async () => openAccess(`http://127.0.0.1:${this.port}`));
  }

  get port(): number {
    return this.#port;
  }

  /** Resolves after `times` requests whose line contains `words`. */
  async requested(words: string, times: number): Promise<void> {
    const count = () => this.requests.filter((line) => line.includes(words)).length;
    while (count() < times) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Breaks all connections. New ones are refused until the returned function is called. */
  async vanish(): Promise<() => Promise<void>> {
    const { port } = this;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    return async () => {
      this.#server.listen(port, '127.0.0.1');
      await once(this.#server, 'listening');
    };
  }

  async close(): Promise<void> {
    await this.api.close();
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url!, 'http://fake');
    this.requests.push(`${request.method} ${decodeURIComponent(request.url!)}`);
    this.answer(url, response, request.method!);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

export function send(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function sendList(response: ServerResponse, items: object[], resourceVersion: string, next?: string): void {
  send(response, { metadata: { resourceVersion, continue: next }, items });
}

/** Opens a watch. Returns the function that sends events. */
export function openWatch(response: ServerResponse): (type: string, object: object) => void {
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  return (type, object) => response.write(`${JSON.stringify({ type, object })}\n`);
}

export function fakeObject(name: string, resourceVersion: number, more: object = {}): ApiObject {
  return { metadata: { name, uid: `uid-${name}`, resourceVersion: String(resourceVersion), ...more } };
}
