import type { HeaderList } from './header-list.ts';

/** Bytes of a body: a number, or how its end is told. */
export type BodyLength = number | 'chunked' | 'untilClose';

/** Names and values in turn, as they go on the wire. */
export type RawHeaders = readonly string[];

/** The start of an answer. `headers` hold neither framing nor hop-by-hop fields: the exchange adds its own. */
export interface AnswerHead {
  status: number;
  reason: string;
  headers: RawHeaders;
  /** What follows; for answers that never have a body, what `Content-Length` shall say. */
  length: BodyLength | null;
}

/** Takes the body of a request. A chunk is only valid during the call: who keeps it copies it. */
export interface BodySink {
  onBodyData(chunk: Buffer): void;
  onBodyEnd(trailers: RawHeaders): void;
}

/** Hears of the client while it is answered. */
export interface ExchangeWatcher {
  onClientGone(): void;
  /** It has taken what was written, after a `write` that answered false. */
  onClientDrain(): void;
}

/**
 * One request of a client and the way to answer it, on whichever listener it came. It is answered once: by `forward`,
 * which passes it on, or by `answer`. Until then nothing of its body has been read.
 */
export interface ClientExchange {
  readonly method: string;
  /** Path and query as they came, starting with `/`, or `*`. */
  readonly target: string;
  readonly minorVersion: 0 | 1;
  readonly headers: HeaderList;
  readonly remoteAddress: string;
  /** The same for all requests of one connection, for what is remembered along with it. */
  readonly connection: object;
  readonly isSecure: boolean;
  /** The other side is a proxy of ours: what it says of its client is taken. */
  readonly isTrusted: boolean;
  /** The protocol that the client asks to change to, e.g. `websocket`; null for all but a valid request of that kind. */
  readonly upgrade: string | null;
  readonly bodyLength: number | 'chunked';
  /** True from the moment the client went away, or the exchange is over. */
  readonly isOver: boolean;
  /** Called once if the client goes away before the end of the answer; one listener, the latest. */
  onGone: (() => void) | null;
  /** The same and more for whoever forwards: an object, since a function made for each request costs the collector dearly. */
  watcher: ExchangeWatcher | null;

  /** Starts the flow of the request's body. */
  readBody(sink: BodySink): void;
  pauseBody(): void;
  resumeBody(): void;

  /** An interim answer (1xx). */
  inform(status: number, reason: string, headers: RawHeaders): void;
  start(head: AnswerHead): void;
  /** The chunk is copied if it cannot be written at once. False: wait for `onClientDrain`. */
  write(chunk: Buffer): boolean;
  /** Writes what `start` and `write` held back to send it as one. */
  flush(): void;
  end(trailers: RawHeaders): void;
  /** A whole answer of our own; nothing when one was started or the client is gone. */
  answer(status: number, reason: string, headers: RawHeaders, body: string): void;
  /** Cuts the connection, so that the client cannot take what it has for the whole. */
  abort(): void;
  /** After a 101 was started: the connection itself, with what came after the head. */
  detach(): TunnelEnd;
}

/** Answers a request itself: the exchange is its own from here on. */
export type ExchangeHandler = (exchange: ClientExchange) => void;

/** A connection that has left HTTP, and what was read of it before. */
export interface TunnelEnd {
  wire: Wire;
  head: Buffer;
}

/** Who reads a wire. A chunk is only valid during the call. */
export interface WireReader {
  onBytes(chunk: Buffer): void;
  /** The other side will send nothing more. */
  onEnd(): void;
  onDrain(): void;
  onClosed(error: Error | null): void;
}

/** A connection as the proxy uses it: bytes in, bytes out, one reader. */
export interface Wire {
  reader: WireReader;
  /** True while what was written waits for the other side: stop until `onDrain`. */
  readonly isFull: boolean;
  readonly isClosed: boolean;
  writeText(text: string): void;
  /** The chunk may be changed afterwards: what cannot be written at once is copied. */
  writeBytes(chunk: Buffer): void;
  pause(): void;
  resume(): void;
  /** Sends what is left and says that nothing more comes. */
  end(): void;
  /** Sends what is left, then closes, whether or not the other side is done. */
  closeSoon(): void;
  destroy(): void;
  /** Lets the kernel look whether a silent other side still lives. */
  keepAlive(): void;
}
