import type { HeaderList } from './header-list.ts';

/** A body's length in bytes, or how its end is marked. */
export type BodyLength = number | 'chunked' | 'untilClose';

/** Header names and values in turn, as they are sent. */
export type RawHeaders = readonly string[];

/** The start of a response. `headers` hold neither framing nor hop-by-hop fields: the exchange adds its own. */
export interface AnswerHead {
  status: number;
  reason: string;
  headers: RawHeaders;
  /** The body's length; for responses that never have a body, the value of `Content-Length`. */
  length: BodyLength | null;
  /** Set by `answerText`. */
  text?: string;
}

/** Receives a request's body. A chunk is valid only during the call: copy what you keep. */
export interface BodySink {
  onBodyData(chunk: Buffer): void;
  onBodyEnd(trailers: RawHeaders): void;
}

/** Receives events of the client during the exchange. */
export interface ExchangeWatcher {
  onClientGone(): void;
  /** The client has read what was written, after a `write` that returned false. */
  onClientDrain(): void;
}

/**
 * One request of a client and the way to answer it, whatever connection it came on. It is answered once, by `forward` or
 * by `answer`. Until then nothing of its body has been read.
 */
export interface ClientExchange {
  readonly method: string;
  /** Path and query as received, starting with `/`, or `*`. */
  readonly target: string;
  readonly minorVersion: 0 | 1;
  readonly headers: HeaderList;
  readonly remoteAddress: string;
  /** The same object for all requests of one connection, as a cache key. */
  readonly connection: object;
  readonly isSecure: boolean;
  /** The client is a trusted proxy, whose forwarding headers are believed. */
  readonly isTrusted: boolean;
  /** The protocol of a valid upgrade request, e.g. `websocket`; null for all others. */
  readonly upgrade: string | null;
  readonly bodyLength: number | 'chunked';
  /** True once the client has disconnected or the exchange has ended. */
  readonly isOver: boolean;
  /** Called once if the client disconnects before the end of the response. */
  onGone: (() => void) | null;
  /** Also for `forward`: one object, since closures per request would burden the garbage collector. */
  watcher: ExchangeWatcher | null;

  /** Starts the flow of the request's body. */
  readBody(sink: BodySink): void;
  pauseBody(): void;
  resumeBody(): void;

  /** Sends an interim response (1xx). False: wait for `onClientDrain`. */
  inform(status: number, reason: string, headers: RawHeaders): boolean;
  start(head: AnswerHead): void;
  /** Writes the bytes from `start` to `end`, or copies what cannot be written at once. False: wait for `onClientDrain`. */
  write(bytes: Buffer, start: number, end: number): boolean;
  /** Writes what `start` and `write` buffered. */
  flush(): void;
  end(trailers: RawHeaders): void;
  /** Sends a complete response; does nothing when one was started or the client is gone. */
  answer(status: number, reason: string, headers: RawHeaders, body: string): void;
  /** Cuts the connection, so that the client does not take a partial response for the whole. */
  abort(): void;
  /** After a 101 was started: returns the connection itself, with the bytes after the head. */
  detach(): TunnelEnd;
}

/** Takes over an exchange and answers it. */
export type ExchangeHandler = (exchange: ClientExchange) => void;

/** A connection that has left HTTP, with the bytes already read. */
export interface TunnelEnd {
  transport: Transport;
  head: Buffer;
}

/** Reads a transport. A chunk is valid only during the call. */
export interface TransportReader {
  onBytes(chunk: Buffer): void;
  /** The peer has ended its side. */
  onEnd(): void;
  /** Everything that had to wait was written. */
  onDrain(): void;
  onClosed(error: Error | null): void;
}

/** A connection: bytes in, bytes out, one reader. */
export interface Transport {
  reader: TransportReader;
  /** True while the write buffer is full: stop until `onDrain`. */
  readonly isFull: boolean;
  readonly isClosed: boolean;
  writeText(text: string): void;
  /** Writes without a copy what must never change. */
  writeKept(bytes: Buffer): void;
  /** Writes, or copies what cannot be written at once: the chunk may be reused afterwards. */
  writeBytes(chunk: Buffer): void;
  pause(): void;
  resume(): void;
  /** Sends what is left and ends our side. */
  end(): void;
  /** Sends what is left, then closes, even if the peer is still sending. */
  closeSoon(): void;
  destroy(): void;
  /** Enables TCP keep-alive. */
  keepAlive(): void;
}
