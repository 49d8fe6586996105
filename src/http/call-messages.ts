import type { IncomingHttpHeaders } from 'node:http';

/**
 * Request and response as the handlers of the data plane use them: of Podyard's own HTTP/1.1 implementation
 * (dataplane/wire/), or node's, on connections that node's server reads.
 */

/** The connection of a message. */
export interface CallConnection {
  readonly remoteAddress?: string | undefined;
  readonly destroyed: boolean;
  readonly bytesWritten: number;
  /** 0: it may stay idle for any time. */
  setTimeout(ms: number): unknown;
}

export interface CallRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** By name in lower case; repeated ones are joined as node does. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** The same object for all requests of one connection. */
  readonly socket: CallConnection;
  /** True once the whole body has arrived. */
  readonly complete: boolean;
  readonly destroyed: boolean;
  /** True after `end`. */
  readonly readableEnded: boolean;
  /** A piece of the body is valid only during the call. */
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  /** `close` follows `end`, or comes without it when the connection is gone. */
  on(event: 'end' | 'close', listener: () => void): unknown;
  once(event: 'end' | 'close', listener: () => void): unknown;
  /** The body arrives from the first `resume` on. */
  resume(): unknown;
  pause(): unknown;
  /** Cuts the connection. */
  destroy(): unknown;
}

export interface CallResponse {
  readonly req: CallRequest;
  readonly socket: CallConnection | null;
  readonly statusCode: number;
  readonly headersSent: boolean;
  /** True after `end`. */
  readonly writableEnded: boolean;
  /** True once all of an ended response has left this process. */
  readonly writableFinished: boolean;
  readonly writableNeedDrain: boolean;
  /** Bytes that have not left this process. */
  readonly writableLength: number;
  /** True once it is complete, or the connection is gone. */
  readonly destroyed: boolean;
  /** `headers`: names and values in turn. */
  writeHead(status: number, headers: string[]): unknown;
  /** False: wait for `drain`. */
  write(chunk: string | Buffer): boolean;
  end(text?: string): unknown;
  /** Cuts the connection, so that the client does not take a part for the whole. */
  destroy(): unknown;
  on(event: 'close' | 'finish' | 'drain', listener: () => void): unknown;
  once(event: 'close' | 'finish' | 'drain', listener: () => void): unknown;
  off(event: 'close' | 'finish' | 'drain', listener: () => void): unknown;
}
