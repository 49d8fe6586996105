import type { Server as HttpServer, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { SecureContextOptions, Server as TlsServer } from 'node:tls';
import { PipelineGate } from '../../http/floods/pipeline-gate.ts';
import { stayPaused } from '../../http/floods/stay-paused.ts';
import type { OwnedConnection, WireHandler } from './connection-owner.ts';
import type { RequestHead } from './message-head.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { WireServer } from './wire-server.ts';

const LIMITS = { maxHeadBytes: 32_768, idleTimeoutMs: 75_000 };

/**
 * The public listener. It reads the head of each request. Requests of the proxy and of the queue API are served here, on the
 * shortest path; a connection that asks for anything else is handed off to the HTTP server of the other planes.
 */
export class Front extends WireServer {
  readonly #http: HttpServer;

  constructor(options: {
    /** Null: plain HTTP. */
    tls: SecureContextOptions | null;
    /** The server of the other planes, which does not listen itself. Its responses are drainable as well. */
    http: HttpServer;
    dispatch: (head: RequestHead) => WireHandler | null;
    trustedProxies: TrustedProxies;
  }) {
    const { http, dispatch, trustedProxies } = options;
    super({ tls: options.tls, dispatch, trustedProxies, limits: LIMITS });
    this.#http = http;
    // node's HTTP server checks its connections for timeouts only after 'listening'.
    this.server.once('listening', () => http.emit('listening'));
  }

  /** Uses this certificate for new connections. */
  useCertificate(tls: SecureContextOptions): void {
    (this.server as TlsServer).setSecureContext(tls);
  }

  /** `unread` starts with a request. */
  override handOff(connection: OwnedConnection, unread: Buffer): void {
    this.connections.delete(connection);
    const socket = connection.transport.release(unread);
    const entry = { close() {}, destroy: () => socket.destroy() };
    this.connections.add(entry);
    socket.once('close', () => this.forget(entry));
    this.#http.emit('connection', socket);
    stayPaused(socket);
    new PipelineGate(socket, connection.pace);
  }

  /**
   * Takes a connection back from the HTTP server when an upgrade for the proxy arrives on it, and reads it again from that
   * request on.
   */
  takeBack(req: IncomingMessage, socket: Socket, head: Buffer): void {
    const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`];
    for (let i = 0; i < req.rawHeaders.length; i += 2) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`);
    const rest = PipelineGate.of(socket)?.detach() ?? Buffer.alloc(0);
    const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head, rest]);
    this.accept(socket)?.onBytes(bytes);
  }

  override async close(): Promise<void> {
    await super.close();
    this.#http.close(); // stops its timeout checks
  }

  protected override closeIdle(): void {
    this.#http.closeIdleConnections(); // connections whose last response was just sent
    super.closeIdle();
  }
}
