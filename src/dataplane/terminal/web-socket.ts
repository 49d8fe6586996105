import { createHash } from 'node:crypto';
import { Failure } from '../../core/errors.ts';
import {
  BadFrame,
  CLOSE_GOING_AWAY,
  encodeFrame,
  FrameReader,
  type WebSocketMessage,
} from '../../core/web-socket-frames.ts';
import type { ClientExchange, Wire, WireReader } from '../wire/client-exchange.ts';

const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY = /^[A-Za-z0-9+/]{22}==$/;
const MAX_MESSAGE_BYTES = 128 * 1024;
/** How long a client has to answer the close frame. */
const CLOSE_MS = 2_000;

/** What happens on a WebSocket. `bytes` are valid for ever. */
export interface WebSocketListener {
  onText(text: string): void;
  onBinary(bytes: Buffer): void;
  /** Something of the client came, if only a pong. */
  onAlive(): void;
  /** What was written has been sent, after `isFull`. */
  onDrain(): void;
  onClosed(): void;
}

/** The subprotocols that a client offers. */
export function offeredProtocols(exchange: ClientExchange): string[] {
  return (exchange.headers.get('sec-websocket-protocol') ?? '').split(',').map((one) => one.trim());
}

/** Throws `badRequest` for a request that no WebSocket can be made of. */
export function checkHandshake({ headers, method, upgrade }: ClientExchange): void {
  const isValid =
    method === 'GET' &&
    upgrade?.toLowerCase() === 'websocket' &&
    headers.get('sec-websocket-version') === '13' &&
    KEY.test(headers.get('sec-websocket-key') ?? '');
  if (!isValid) throw new Failure('badRequest', 'This address takes only WebSocket connections (RFC 6455).');
}

/** The server's side of a WebSocket, on a connection that the proxy reads. */
export class WebSocketConnection implements WireReader {
  readonly #wire: Wire;
  readonly #reader = new FrameReader({ isMasked: true, maxMessageBytes: MAX_MESSAGE_BYTES });
  readonly #listener: WebSocketListener;
  #isClosing = false;

  private constructor(wire: Wire, listen: (socket: WebSocketConnection) => WebSocketListener) {
    this.#wire = wire;
    this.#listener = listen(this);
  }

  /** Answers the handshake, which `checkHandshake` accepted, and begins to read. */
  static accept(
    exchange: ClientExchange,
    protocol: string,
    listen: (socket: WebSocketConnection) => WebSocketListener,
  ): void {
    const accept = createHash('sha1')
      .update(`${exchange.headers.get('sec-websocket-key')}${ACCEPT_SUFFIX}`)
      .digest('base64');
    const headers = ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Accept', accept];
    headers.push('Sec-WebSocket-Protocol', protocol);
    exchange.start({ status: 101, reason: 'Switching Protocols', headers, length: null });
    const { wire, head } = exchange.detach();
    const socket = new WebSocketConnection(wire, listen);
    wire.reader = socket;
    wire.keepAlive();
    if (head.length > 0) socket.onBytes(head);
    wire.resume();
    if (wire.isClosed) socket.onClosed();
  }

  get isFull(): boolean {
    return this.#wire.isFull;
  }

  send(message: Exclude<WebSocketMessage, { kind: 'close' }>): void {
    if (!this.#isClosing) this.#wire.writeBytes(encodeFrame(message));
  }

  /** Says goodbye, and closes when the client has answered, or soon. */
  close(code: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#wire.writeBytes(encodeFrame({ kind: 'close', code }));
    this.#wire.resume();
    setTimeout(() => this.#wire.destroy(), CLOSE_MS).unref();
  }

  destroy(): void {
    this.#wire.destroy();
  }

  onBytes(chunk: Buffer): void {
    try {
      for (const message of this.#reader.take(chunk)) this.#onMessage(message);
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      this.close(error.code);
      this.#wire.closeSoon();
    }
  }

  onEnd(): void {
    this.#wire.closeSoon();
  }

  onDrain(): void {
    this.#listener.onDrain();
  }

  onClosed(): void {
    this.#listener.onClosed();
  }

  #onMessage(message: WebSocketMessage): void {
    this.#listener.onAlive();
    if (message.kind === 'close') {
      this.close(message.code ?? CLOSE_GOING_AWAY);
      this.#wire.closeSoon();
    } else if (this.#isClosing) return;
    else if (message.kind === 'ping') this.#wire.writeBytes(encodeFrame({ kind: 'pong', bytes: message.bytes }));
    else if (message.kind === 'text') this.#listener.onText(message.text);
    else if (message.kind === 'binary') this.#listener.onBinary(message.bytes);
  }
}
