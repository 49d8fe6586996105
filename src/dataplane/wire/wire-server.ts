import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, TLSSocket } from 'node:tls';
import { Failure, type FailureKind } from '../../core/errors.ts';
import { ConnectionPace, RefusalPace } from '../../http/floods/refusal-pace.ts';
import { slowBody } from '../../http/floods/slow-bodies.ts';
import { rawProblem } from '../../http/problem.ts';
import { ClientConnection } from './client-connection.ts';
import type { ConnectionOwner, OwnedConnection, Unreadable, WireHandler } from './connection-owner.ts';
import { Deadlines } from './deadlines.ts';
import type { RequestHead } from './message-head.ts';
import { SocketTransport } from './transport.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** How long running requests may take after `close`. */
const CLOSE_TIMEOUT_MS = 3000;
const IDLE_CHECK_MS = 20;
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;

const REFUSALS: Record<Exclude<Unreadable, 'slowBody'>, { kind: FailureKind; detail: string }> = {
  invalid: { kind: 'badRequest', detail: 'The request is not valid HTTP.' },
  tooLarge: { kind: 'headersTooLarge', detail: 'The request headers are larger than' },
  tooSlow: { kind: 'requestTimeout', detail: 'The request headers did not come in time.' },
};

export interface WireLimits {
  maxHeadBytes: number;
  idleTimeoutMs: number;
  /** Answers a request whose body comes too slowly. */
  slowBody?: () => Failure;
}

/** A connection, or what became of it. */
interface Closable {
  /** Closes it if it is idle. */
  close(): void;
  destroy(): void;
}

/** Serves the connections of a listener, each request by the handler of its head. */
export class WireServer implements ConnectionOwner {
  readonly server: Server;
  readonly deadlines = new Deadlines();
  /** Each connection ends with its next answer, so that its client opens another, elsewhere. */
  isDraining = false;
  readonly maxHeadBytes: number;
  readonly idleTimeoutMs: number;
  readonly keepAliveLine: string;
  protected readonly connections = new Set<Closable>();
  readonly #refusals = new RefusalPace();
  readonly #slowBody: () => Failure;
  readonly #trustedProxies: TrustedProxies | null;
  readonly #dispatch: (head: RequestHead) => WireHandler | null;
  #isClosing = false;
  #onEmpty: () => void = () => {};

  constructor(options: {
    /** Null: plain HTTP. */
    tls: SecureContextOptions | null;
    dispatch: (head: RequestHead) => WireHandler | null;
    trustedProxies: TrustedProxies | null;
    limits: WireLimits;
  }) {
    const { tls, limits } = options;
    const onSocket = (socket: Socket) => void this.accept(socket);
    this.server =
      tls === null
        ? createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, onSocket)
        : createTlsServer({ ...tls, ALPNProtocols: ['http/1.1'], allowHalfOpen: true, noDelay: true }, onSocket);
    this.maxHeadBytes = limits.maxHeadBytes;
    this.idleTimeoutMs = limits.idleTimeoutMs;
    this.keepAliveLine = `Keep-Alive: timeout=${limits.idleTimeoutMs / 1000}\r\n`;
    this.#slowBody = limits.slowBody ?? slowBody;
    this.#trustedProxies = options.trustedProxies;
    this.#dispatch = options.dispatch;
    this.server.on('tlsClientError', (_error, socket: Socket) => socket.destroy());
  }

  dispatch(head: RequestHead): WireHandler | null {
    return this.#dispatch(head);
  }

  /** The default, for a server without another behind it. */
  handOff(connection: OwnedConnection, _unread: Buffer): void {
    connection.destroy();
  }

  onClosed(connection: OwnedConnection): void {
    this.forget(connection);
  }

  refusal(reason: Unreadable, target = ''): string {
    if (reason === 'slowBody') return rawProblem(this.#slowBody(), target);
    const { kind, detail } = REFUSALS[reason];
    const limit = reason === 'tooLarge' ? ` ${this.maxHeadBytes / 1024} KiB.` : '';
    return rawProblem(new Failure(kind, detail + limit));
  }

  /**
   * Keeps serving, but closes each connection after its next response, which announces it. An idle connection stays open until then:
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
      const idle = setInterval(() => this.closeIdle(), IDLE_CHECK_MS);
      const cut = setTimeout(() => {
        for (const connection of this.connections) connection.destroy();
      }, CLOSE_TIMEOUT_MS);
      this.#onEmpty = () => {
        clearInterval(idle);
        clearTimeout(cut);
        resolve();
      };
      if (this.connections.size === 0) this.#onEmpty();
      else this.closeIdle();
    });
  }

  protected closeIdle(): void {
    for (const connection of this.connections) connection.close();
  }

  protected accept(accepted: Socket): ClientConnection | undefined {
    const isSecure = accepted instanceof TLSSocket;
    const remoteAddress = (accepted.remoteAddress ?? '').replace(MAPPED_IPV4, '');
    const transport = SocketTransport.accept(accepted);
    if (remoteAddress === '') {
      transport.destroy(); // already closed
      return undefined;
    }
    const isTrusted = this.#trustedProxies?.has(remoteAddress) === true;
    const pace = new ConnectionPace(this.#refusals, {
      remoteAddress,
      proxies: isTrusted ? this.#trustedProxies : null,
    });
    const connection = new ClientConnection(transport, this, { remoteAddress, isSecure, isTrusted, pace });
    this.connections.add(connection);
    return connection;
  }

  protected forget(connection: Closable): void {
    this.connections.delete(connection);
    if (this.#isClosing && this.connections.size === 0) this.#onEmpty();
  }
}
