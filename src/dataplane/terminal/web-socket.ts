import { createHash } from 'node:crypto';
import { Failure } from '../../core/errors.ts';
import { enterTurn, type TurnTaker } from '../../core/flow/turns.ts';
import {
  BadFrame,
  CLOSE_GOING_AWAY,
  CLOSE_POLICY,
  encodeFrame,
  FrameReader,
  type WebSocketMessage,
} from '../../core/web-socket-frames.ts';
import type { ClientExchange, Transport, TransportReader } from '../wire/client-exchange.ts';

const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY = /^[A-Za-z0-9+/]{22}==$/;
const MAX_MESSAGE_BYTES = 128 * 1024;
/** Messages read of a chunk at once; the rest waits for turns (core/flow/turns.ts). */
const MESSAGES_AT_ONCE = 64;
/** A client that sends more pings and pongs within a window is cut off. */
const MAX_CONTROLS = 1_000;
const CONTROLS_WINDOW_MS = 10_000;
/** How long a client has to answer the close frame. */
const CLOSE_MS = 2_000;

/** Events of a WebSocket. `bytes` are never overwritten. */
export interface WebSocketListener {
  onText(text: string): void;
  onBinary(bytes: Buffer): void;
  /** A frame of the client arrived, if only a pong. */
  onAlive(): void;
  /** Called after `isFull`, when everything written has been sent. */
  onDrain(): void;
  onClosed(): void;
  /** The client broke the protocol or a limit. Followed by `onClosed`. */
  onFault(reason: string, closeCode: number): void;
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

/**
 * The server's side of a WebSocket, on a connection that the proxy reads. However many messages a client sends at once, and whether it
 * reads or not, it gets its turns and no more, and nothing is written ahead of it but what the listener writes.
 */
export class WebSocketConnection implements TransportReader, TurnTaker {
  readonly #transport: Transport;
  readonly #reader = new FrameReader({ isMasked: true, maxMessageBytes: MAX_MESSAGE_BYTES });
  readonly #listener: WebSocketListener;
  #isClosing = false;
  /** True while messages wait for a turn, and reading pauses. */
  #isWaiting = false;
  /** The payload of the latest ping that could not be answered at once. Only that one needs an answer (RFC 6455, 5.5.3). */
  #pong: Buffer | null = null;
  #controls = 0;
  #controlsSince = 0;

  private constructor(transport: Transport, listen: (socket: WebSocketConnection) => WebSocketListener) {
    this.#transport = transport;
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
    const { transport, head } = exchange.detach();
    const socket = new WebSocketConnection(transport, listen);
    transport.reader = socket;
    transport.keepAlive();
    if (head.length > 0) socket.onBytes(head);
    if (!socket.#isWaiting) transport.resume();
    if (transport.isClosed) socket.onClosed();
  }

  get isFull(): boolean {
    return this.#transport.isFull;
  }

  send(message: Exclude<WebSocketMessage, { kind: 'close' }>): void {
    if (!this.#isClosing) this.#transport.writeBytes(encodeFrame(message));
  }

  /** Sends the close frame, and closes the connection when the client has answered it, or after a timeout. */
  close(code: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#transport.writeBytes(encodeFrame({ kind: 'close', code }));
    setTimeout(() => this.#transport.destroy(), CLOSE_MS).unref();
  }

  destroy(): void {
    this.#transport.destroy();
  }

  onBytes(chunk: Buffer): void {
    this.#reader.push(chunk);
    if (!this.#isWaiting) this.#readMessages();
  }

  takeTurn(): void {
    this.#isWaiting = false;
    if (this.#transport.isClosed) return;
    this.#readMessages();
    if (!this.#isWaiting) this.#transport.resume();
  }

  #readMessages(): void {
    try {
      for (let count = 0; count < MESSAGES_AT_ONCE; count++) {
        const message = this.#reader.next();
        if (!message) return;
        this.#onMessage(message);
      }
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      this.#listener.onFault(error.message, error.code);
      this.close(error.code);
      this.#transport.closeSoon();
      return;
    }
    this.#isWaiting = true;
    this.#transport.pause();
    enterTurn(this);
  }

  onEnd(): void {
    this.#transport.closeSoon();
  }

  onDrain(): void {
    if (this.#pong !== null) this.#answerPing(this.#pong);
    this.#listener.onDrain();
  }

  onClosed(): void {
    this.#listener.onClosed();
  }

  #onMessage(message: WebSocketMessage): void {
    this.#listener.onAlive();
    if (message.kind === 'close') {
      this.close(message.code ?? CLOSE_GOING_AWAY);
      this.#transport.closeSoon();
    } else if (this.#isClosing) return;
    else if (message.kind === 'ping' || message.kind === 'pong') {
      this.#countControl();
      if (message.kind === 'ping') this.#answerPing(message.bytes);
    } else if (message.kind === 'text') this.#listener.onText(message.text);
    else if (message.kind === 'binary') this.#listener.onBinary(message.bytes);
  }

  #answerPing(bytes: Buffer): void {
    this.#pong = this.#transport.isFull ? bytes : null;
    if (this.#pong === null && !this.#isClosing) this.#transport.writeBytes(encodeFrame({ kind: 'pong', bytes }));
  }

  #countControl(): void {
    const now = performance.now();
    if (now - this.#controlsSince > CONTROLS_WINDOW_MS) {
      this.#controlsSince = now;
      this.#controls = 0;
    }
    this.#controls += 1;
    if (this.#controls <= MAX_CONTROLS) return;
    const text = `the client sent more than ${MAX_CONTROLS} pings and pongs within ${CONTROLS_WINDOW_MS / 1000} s`;
    throw new BadFrame(CLOSE_POLICY, text);
  }
}
