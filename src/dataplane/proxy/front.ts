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
import { stayPaused } from '../../http/stay-paused.ts';
import { ClientConnection, type ConnectionOwner, type Unreadable } from './client-connection.ts';
import type { ExchangeHandler } from './client-exchange.ts';
import { Deadlines } from './deadlines.ts';
import type { RequestHead } from './message-head.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { SocketWire } from './wire.ts';

/** How long running requests may take after `close`. */
const CLOSE_TIMEOUT_MS = 3000;
const IDLE_CHECK_MS = 20;
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;

const REFUSALS: Record<Unreadable, { kind: FailureKind; detail: string }> = {
  invalid: { kind: 'badRequest', detail: 'The request is not valid HTTP.' },
  tooLarge: { kind: 'headersTooLarge', detail: 'The request headers are larger than 32 KiB.' },
  tooSlow: { kind: 'requestTimeout', detail: 'The request headers did not come in time.' },
};

/**
 * The public listener. It reads the head of each connection's first request. Requests of the proxy are served here, on the
 * shortest path; a connection that asks for anything else is handed off to the HTTP server of the other planes.
 */
export class Front implements ConnectionOwner {
  readonly server: Server;
  readonly deadlines = new Deadlines();
  /** Each connection ends with its next answer, so that its client opens another, elsewhere. */
  isDraining = false;
  #isClosing = false;
  readonly #http: HttpServer;
  readonly #trustedProxies: TrustedProxies;
  readonly #dispatch: (head: RequestHead) => ExchangeHandler | null;
  readonly #connections = new Set<{ close(): void; destroy(): void }>();
  #onEmpty: () => void = () => {};

  constructor(options: {
    /** Null: plain HTTP. */
    tls: SecureContextOptions | null;
    /** The server of the other planes, which does not listen itself. Its responses are drainable as well. */
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
    // node's HTTP server checks its connections for timeouts only after 'listening'.
    this.server.once('listening', () => options.http.emit('listening'));
  }

  /** Uses this certificate for new connections. */
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
    stayPaused(socket);
  }

  /**
   * Takes a connection back from the HTTP server when an upgrade for the proxy arrives on it, and reads it again from that
   * request on.
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

  /**
   * Goes on serving, but ends each connection with its next answer, which says so. An idle connection stays open until then:
   * closing it could meet a request that is on its way.
   */
  drain(): void {
    this.isDraining = true;
  }

  /** Stops accepting, waits for running requests, then cuts the remaining connections. */
  close(): Promise<void> {
    this.drain();
    this.#isClosing = true;
    this.server.close();
    return new Promise((resolve) => {
      const closeIdle = () => {
        this.#http.closeIdleConnections(); // connections whose last response was just sent
        for (const connection of this.#connections) connection.close();
      };
      const idle = setInterval(closeIdle, IDLE_CHECK_MS);
      const cut = setTimeout(() => {
        for (const connection of this.#connections) connection.destroy();
      }, CLOSE_TIMEOUT_MS);
      this.#onEmpty = () => {
        clearInterval(idle);
        clearTimeout(cut);
        this.#http.close(); // stops its timeout checks
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
      wire.destroy(); // already closed
      return undefined;
    }
    const isTrusted = this.#trustedProxies.has(remoteAddress);
    const connection = new ClientConnection(wire, this, { remoteAddress, isSecure, isTrusted });
    this.#connections.add(connection);
    return connection;
  }

  #forget(connection: { close(): void; destroy(): void }): void {
    this.#connections.delete(connection);
    if (this.#isClosing && this.#connections.size === 0) this.#onEmpty();
  }
}
