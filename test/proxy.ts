import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type ForwardSettings, forward } from '../src/dataplane/proxy/forward.ts';
import type { ForwardOutcome } from '../src/dataplane/proxy/forward-outcome.ts';
import { answerOnSharedConnection } from '../src/dataplane/proxy/node-exchange.ts';
import { Upstream } from '../src/dataplane/proxy/upstream.ts';
import { Front } from '../src/dataplane/wire/front.ts';
import { TrustedProxies } from '../src/dataplane/wire/trusted-proxies.ts';

/** The host name that the proxy serves. */
export const NAME = 'pod-80.localhost';

/** The proxy between raw sockets and real servers. */
export class ProxyFixture {
  settings: ForwardSettings = { answerTimeoutMs: 0, maxBodyBytes: 0 };
  readonly outcomes: ForwardOutcome[] = [];
  front!: Front;
  upstream!: Upstream;
  readonly #open: { close(): unknown }[] = [];

  /** Closes everything that was opened, the newest first. */
  async close(): Promise<void> {
    for (const one of this.#open.splice(0).reverse()) await one.close();
  }

  async listen<T extends Server | HttpServer>(server: T): Promise<number> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#open.push({ close: () => server.close() });
    return (server.address() as AddressInfo).port;
  }

  /** A raw upstream, which passes every connection to `onSocket`. */
  async rawUpstream(onSocket: (socket: Socket, count: number) => void): Promise<number> {
    let count = 0;
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.add(socket.on('error', () => {}));
      onSocket(socket, ++count);
    });
    const port = await this.listen(server);
    this.#open.push({
      close: () => {
        for (const socket of sockets) socket.destroy();
      },
    });
    return port;
  }

  /** An upstream that sends `answer` after each connection's first bytes. */
  answering(answer: string): Promise<number> {
    return this.rawUpstream((socket) => {
      socket.once('data', () => socket.write(answer, 'latin1'));
    });
  }

  async httpUpstream(onRequest: (req: IncomingMessage, res: ServerResponse) => void): Promise<number> {
    const server = createHttpServer(onRequest);
    this.#open.push({ close: () => server.closeAllConnections() });
    return this.listen(server);
  }

  /** A front that forwards requests for NAME to the port; node's server answers all others. */
  async start(upstreamPort: number): Promise<number> {
    const target = new Upstream({ address: '127.0.0.1', port: upstreamPort });
    this.upstream = target;
    const trustedProxies = new TrustedProxies([]);
    const handler = (exchange: Parameters<typeof forward>[2]) => {
      const onOutcome = (outcome: ForwardOutcome) => {
        this.outcomes.push(outcome);
        if (outcome.kind === 'notConnected') exchange.answer(502, 'Bad Gateway', [], outcome.reason);
      };
      forward({ onOutcome }, this.settings, exchange, target, {});
    };
    const isOurs = (host: string | undefined) => host === NAME;
    const http = createHttpServer();
    const onRequest = (req: IncomingMessage, res: ServerResponse) => {
      if (isOurs(req.headers.host)) answerOnSharedConnection(req, res, trustedProxies, handler);
      else res.end('not the proxy');
    };
    http.on('request', onRequest).on('checkContinue', onRequest);
    const front = new Front({
      tls: null,
      http,
      trustedProxies,
      dispatch: ({ host }) => (isOurs(host) ? handler : null),
    });
    this.front = front;
    front.server.listen(0, '127.0.0.1');
    await once(front.server, 'listening');
    this.#open.push({ close: () => front.close() }, { close: () => target.close() });
    return (front.server.address() as AddressInfo).port;
  }

  connect(port: number): RawClient {
    const client = new RawClient(port);
    this.#open.push({ close: () => client.socket.destroy() });
    return client;
  }

  /** A connection read by the proxy (`own`), or by node's HTTP server because its first request was for another plane (`shared`). */
  async client(port: number, kind: 'own' | 'shared'): Promise<RawClient> {
    const one = this.connect(port);
    if (kind === 'shared') {
      one.send('GET / HTTP/1.1', 'Host: localhost');
      await one.until(/not the proxy$/);
      one.received = '';
    }
    return one;
  }
}

/** A client with a raw socket, which collects what it reads as one text. */
export class RawClient {
  readonly socket: Socket;
  received = '';
  readonly closed: Promise<void>;
  #onData: () => void = () => {};

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (piece: string) => {
      this.received += piece;
      this.#onData();
    });
    this.closed = new Promise((resolve) => {
      const done = () => resolve();
      this.socket.once('end', done).once('close', done).once('error', done);
    });
  }

  send(...lines: string[]): void {
    this.socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  }

  write(bytes: string): void {
    this.socket.write(bytes, 'latin1');
  }

  /** Resolves when the received text matches; rejects when the connection closes first. */
  async until(pattern: RegExp): Promise<RegExpMatchArray> {
    for (;;) {
      const match = pattern.exec(this.received);
      if (match) return match;
      let isClosed = false;
      const more = new Promise<void>((resolve) => {
        this.#onData = resolve;
      });
      await Promise.race([more, this.closed.then(() => (isClosed = true))]);
      if (isClosed && !pattern.test(this.received)) throw new Error(`closed after: ${this.received}`);
    }
  }
}
