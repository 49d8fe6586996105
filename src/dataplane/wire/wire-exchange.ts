import type { CallConnection } from '../../http/call-messages.ts';
import { isRefusal } from '../../http/floods/refusal-pace.ts';
import { BodyReader } from './body-reader.ts';
import type {
  AnswerHead,
  BodyLength,
  BodySink,
  ClientExchange,
  ExchangeWatcher,
  RawHeaders,
  TunnelEnd,
} from './client-exchange.ts';
import type { HeaderList } from './header-list.ts';
import { BadHead, type RequestHead } from './message-head.ts';
import type { SocketTransport } from './transport.ts';
import { answerLines, answerText, framingLine, headerLines, JOIN_BYTES, lastChunk, writeBody } from './write-body.ts';

/** Waits until all that was written has left this process. */
export interface SentWatcher {
  onSent(): void;
  /** It never will. */
  onClientGone(): void;
}

/** The client of a connection, or its proxy. */
export interface ConnectionClient {
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  /** True for a proxy whose headers are believed. */
  readonly isTrusted: boolean;
}

/** The connection as an exchange uses it. */
export interface ExchangeConnection extends CallConnection {
  readonly transport: SocketTransport;
  readonly client: ConnectionClient;
  readonly owner: {
    /** True when each response must be the last of its connection. */
    readonly isDraining: boolean;
    /** Says how long the connection may be idle. */
    readonly keepAliveLine: string;
  };
  /** Starts or resumes the body, beginning with the bytes already held. */
  feedBody(exchange: WireExchange): void;
  pause(): void;
  resume(): void;
  /** Refuses the request if its body comes too slowly. */
  watchBody(): void;
  awaitSent(watcher: SentWatcher): void;
  /** The body's framing is invalid. */
  onBadBody(exchange: WireExchange): void;
  /** The response is complete. */
  finish(exchange: WireExchange, isPersistent: boolean): void;
  destroy(): void;
  /** Gives the transport to another reader. Returns the bytes read and not yet used. */
  detach(): Buffer;
}

/** An exchange on a connection that is read here. */
export class WireExchange implements ClientExchange {
  readonly method: string;
  readonly target: string;
  readonly minorVersion: 0 | 1;
  readonly headers: HeaderList;
  readonly upgrade: string | null;
  readonly bodyLength: number | 'chunked';
  isOver = false;
  isStarted = false;
  /** This server, not an upstream, has refused the request: it answered with a status of 400 to 499. */
  isRefused = false;
  onGone: (() => void) | null = null;
  watcher: ExchangeWatcher | null = null;
  readonly connection: ExchangeConnection;
  #body: BodyReader | null = null;
  #sink: BodySink | null = null;
  isBodyPaused = false;
  isBodyRead: boolean;
  /** Buffered text, to be written with what follows. */
  #unsent = '';
  #isPersistent: boolean;
  #isChunked = false;
  #hasBody = true;
  #onData: ((data: Buffer) => void) | null = null;

  constructor(connection: ExchangeConnection, head: RequestHead) {
    this.connection = connection;
    this.method = head.method;
    this.target = head.target;
    this.minorVersion = head.minorVersion;
    this.headers = head.headers;
    this.upgrade = head.upgrade;
    this.bodyLength = head.bodyLength;
    this.isBodyRead = head.bodyLength === 0;
    this.#isPersistent = head.isPersistent;
  }

  get remoteAddress(): string {
    return this.connection.client.remoteAddress;
  }

  get isSecure(): boolean {
    return this.connection.client.isSecure;
  }

  get isTrusted(): boolean {
    return this.connection.client.isTrusted;
  }

  get isReadingBody(): boolean {
    return this.#body !== null && !this.isBodyRead && !this.isBodyPaused;
  }

  readBody(sink: BodySink): void {
    this.#sink = sink;
    if (this.isBodyRead) {
      sink.onBodyEnd([]);
      return;
    }
    this.#body = new BodyReader(this.bodyLength);
    const onData = (data: Buffer) => this.#sink?.onBodyData(data);
    this.#onData = onData; // a function written here would be born old (docs/decisions/0059-requests-that-stay-young.md)
    this.connection.feedBody(this);
  }

  pauseBody(): void {
    this.isBodyPaused = true;
    this.connection.pause();
  }

  resumeBody(): void {
    if (!this.isBodyPaused) return;
    this.isBodyPaused = false;
    this.connection.feedBody(this);
  }

  /** Reads the body's part of a chunk; returns its length. */
  feed(chunk: Buffer): number {
    const body = this.#body!;
    let used = chunk.length;
    try {
      used = body.read(chunk, this.#onData!);
    } catch (error) {
      if (!(error instanceof BadHead)) throw error;
      this.connection.onBadBody(this);
      return chunk.length;
    }
    if (body.isDone) {
      this.isBodyRead = true;
      if (this.isBodyPaused) this.resumeBody();
      this.#sink?.onBodyEnd(body.trailers);
    }
    return used;
  }

  inform(status: number, reason: string, headers: RawHeaders): boolean {
    if (this.isOver || this.isStarted || this.minorVersion === 0) return true;
    const { transport } = this.connection;
    transport.writeText(`HTTP/1.1 ${status} ${reason}\r\n${headerLines(headers)}\r\n`);
    return !transport.isFull;
  }

  start(head: AnswerHead): void {
    if (this.isOver) return;
    const connection = this.#begin(head.status, head.length);
    const mayChunk = this.minorVersion === 1;
    if (mayChunk && connection === '') this.#unsent = answerText(head);
    else this.#unsent = `${answerLines(head, mayChunk)}${connection}\r\n`;
  }

  /** The same with a head's first lines as text, and a header that says how long the connection may be idle. */
  startLines(status: number, lines: string, length: BodyLength | null): void {
    if (this.isOver) return;
    this.isRefused = isRefusal(status);
    const connection = this.#begin(status, length);
    const keepAlive = this.#isPersistent ? this.connection.owner.keepAliveLine : '';
    this.#unsent = `${lines}${framingLine(length, this.minorVersion === 1)}${connection}${keepAlive}\r\n`;
  }

  /** Returns the response's line `Connection`. */
  #begin(status: number, length: BodyLength | null): string {
    this.isStarted = true;
    this.#hasBody = this.method !== 'HEAD' && status >= 200 && status !== 204 && status !== 304;
    const mayChunk = this.minorVersion === 1;
    if (length !== null && typeof length !== 'number') {
      if (mayChunk) this.#isChunked = this.#hasBody;
      else this.#isPersistent = false;
    }
    return status === 101 ? '' : this.#connectionLine();
  }

  #connectionLine(): string {
    if (!this.isBodyRead || this.connection.owner.isDraining) this.#isPersistent = false;
    if (!this.#isPersistent) return 'Connection: close\r\n';
    return this.minorVersion === 0 ? 'Connection: keep-alive\r\n' : '';
  }

  write(bytes: Buffer, start = 0, end = bytes.length): boolean {
    if (this.isOver || !this.#hasBody || start === end) return true;
    this.#unsent = writeBody(this.connection.transport, this.#unsent, { bytes, start, end }, this.#isChunked);
    return !this.connection.transport.isFull;
  }

  /** Writes text as UTF-8. */
  writeText(text: string): void {
    const isAscii = Buffer.byteLength(text) === text.length;
    if (!isAscii || text.length + this.#unsent.length > JOIN_BYTES) this.writeOwned(Buffer.from(text));
    else if (!this.isOver && this.#hasBody && text !== '')
      this.#unsent += this.#isChunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text;
  }

  /** Like `write`, but without a copy: the chunk must not change any more. */
  writeOwned(chunk: Buffer): void {
    if (chunk.length <= JOIN_BYTES) {
      this.write(chunk);
      return;
    }
    if (this.isOver || !this.#hasBody) return;
    if (this.#isChunked) this.#unsent += `${chunk.length.toString(16)}\r\n`;
    this.flush();
    this.connection.transport.writeOwned(chunk);
    if (this.#isChunked) this.#unsent = '\r\n';
  }

  flush(): void {
    if (this.#unsent === '') return;
    this.connection.transport.writeText(this.#unsent);
    this.#unsent = '';
  }

  end(trailers: RawHeaders): void {
    if (this.isOver) return;
    if (this.#isChunked) this.#unsent += lastChunk(trailers);
    this.flush();
    this.#finish();
  }

  answer(status: number, reason: string, headers: RawHeaders, body: string): void {
    if (this.isOver || this.isStarted) return;
    this.isRefused = isRefusal(status);
    const bytes = Buffer.from(body);
    this.start({ status, reason, headers, length: bytes.length });
    this.write(bytes);
    this.end([]);
  }

  abort(): void {
    if (!this.isOver) this.connection.destroy();
  }

  detach(): TunnelEnd {
    this.flush();
    this.isOver = true;
    return { transport: this.connection.transport, head: this.connection.detach() };
  }

  /** Ends the exchange when its client has disconnected. */
  onClientGone(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#sink = null;
    const { onGone, watcher } = this;
    this.onGone = null;
    this.watcher = null;
    onGone?.();
    watcher?.onClientGone();
  }

  #finish(): void {
    this.isOver = true;
    this.#sink = null;
    this.onGone = null;
    this.watcher = null;
    this.connection.finish(this, this.#isPersistent);
  }
}
