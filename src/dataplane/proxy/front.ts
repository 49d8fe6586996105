import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  TLSSocket,
  type Server as TlsServer,
} from 'node:tls';
import { Failure, type FailureKind } from '../../core/errors.ts';
import { rawProblem } from '../../http/problem.ts';
import { ClientConnection, type ConnectionOwner, type Unreadable } from './client-connection.ts';
import type { ExchangeHandler } from './client-exchange.ts';
import { Deadlines } from './deadlines.ts';
import type { RequestHead } from './message-head.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { SocketWire } from './wire.ts';

const CLOSE_MS = 3000;
const IDLE_CHECK_MS = 20;
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;

const REFUSALS: Record<Unreadable, { kind: FailureKind; detail: string }> = {
  invalid: { kind: 'badRequest', detail: 'The request is not valid HTTP.' },
  tooLarge: { kind: 'headersTooLarge', detail: 'The request headers are larger than 32 KiB.' },
  tooSlow: { kind: 'requestTimeout', detail: 'The request headers did not come in time.' },
};

/**
 * The public listener. It reads the head of each connection's first request: what the proxy answers stays here, on the
 * shortest way; a connection that asks for anything else goes to the HTTP server of the other planes, for good.
 */
export class Front implements ConnectionOwner {
  readonly server: Server;
  readonly deadlines = new Deadlines();
  isClosing = false;
  readonly #http: HttpServer;
  readonly #trustedProxies: TrustedProxies;
  readonly #dispatch: (head: RequestHead) => ExchangeHandler | null;
  readonly #connections = new Set<{ close(): void; destroy(): void }>();
  #onEmpty: () => void = () => {};

  constructor(options: {
    /** Null: plain HTTP. */
    tls: SecureContextOptions | null;
    /** Never listens itself. */
    http: HttpServer;
    dispatch: (head: RequestHead) => ExchangeHandler | null;
    trustedProxies: TrustedProxies;
  }) {
    this.#http = options.http;
    this.#trustedProxies = options.trustedProxies;
    this.#dispatch = options.dispatch;
    const onSocket = (socket: Socket) => this.#accept(socket);
    this.server =
      options.tls === null
        ? createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, onSocket)
        : createTlsServer(
            { ...options.tls, ALPNProtocols: ['http/1.1'], allowHalfOpen: true, noDelay: true },
            onSocket,
          );
    this.server.on('tlsClientError', (_error, socket: Socket) => socket.destroy());
    // It looks after its connections from its own 'listening' on.
    this.server.once('listening', () => options.http.emit('listening'));
  }

  /** New connections use this certificate. */
  useCertificate(tls: SecureContextOptions): void {
    (this.server as TlsServer).setSecureContext(tls);
  }

  dispatch(head: RequestHead): ExchangeHandler | null {
    return this.#dispatch(head);
  }

  handOff(connection: ClientConnection, unread: Buffer): void {
    this.#connections.delete(connection);
    const socket = connection.wire.release(unread);
    const entry = { close() {}, destroy: () => socket.destroy() };
    this.#connections.add(entry);
    socket.once('close', () => this.#forget(entry));
    this.#http.emit('connection', socket);
  }

  /**
   * A client that sent us a request for the other planes may use the same connection for a WebSocket of ours: the HTTP
   * server gives it back, and it is read again from that request on.
   */
  takeBack(req: IncomingMessage, socket: Socket, head: Buffer): void {
    const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`];
    for (let i = 0; i < req.rawHeaders.length; i += 2) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`);
    this.#accept(socket)?.onBytes(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  }

  onClosed(connection: ClientConnection): void {
    this.#forget(connection);
  }

  refusal(reason: Unreadable): string {
    const { kind, detail } = REFUSALS[reason];
    return rawProblem(new Failure(kind, detail));
  }

  /** Stops accepting and waits a moment for what is under way; then connections are cut. */
  close(): Promise<void> {
    this.isClosing = true;
    this.server.close();
    // A busy client keeps its connection: each answer from here on tells it to open another, which somebody else accepts.
    this.#http.prependListener('request', (_req, res) => {
      res.shouldKeepAlive = false;
    });
    return new Promise((resolve) => {
      const closeIdle = () => {
        this.#http.closeIdleConnections(); // connections whose last answer has just left
        for (const connection of this.#connections) connection.close();
      };
      const idle = setInterval(closeIdle, IDLE_CHECK_MS);
      const cut = setTimeout(() => {
        for (const connection of this.#connections) connection.destroy();
      }, CLOSE_MS);
      this.#onEmpty = () => {
        clearInterval(idle);
        clearTimeout(cut);
        this.#http.close(); // ends its own watch over connections
        resolve();
      };
      if (this.#connections.size === 0) this.#onEmpty();
      else closeIdle();
    });
  }

  #accept(accepted: Socket): ClientConnection | undefined {
    const isSecure = accepted instanceof TLSSocket;
    const remoteAddress = (accepted.remoteAddress ?? '').replace(MAPPED_IPV4, '');
    const wire = SocketWire.accept(accepted);
    if (remoteAddress === '') {
      wire.destroy(); // it is gone already
      return undefined;
    }
    const isTrusted = this.#trustedProxies.has(remoteAddress);
    const connection = new ClientConnection(wire, this, { remoteAddress, isSecure, isTrusted });
    this.#connections.add(connection);
    return connection;
  }

  #forget(connection: { close(): void; destroy(): void }): void {
    this.#connections.delete(connection);
    if (this.isClosing && this.#connections.size === 0) this.#onEmpty();
  }
}
