import { BodyReader } from '../wire/body-reader.ts';
import type { BodyLength, RawHeaders, Transport, TransportReader, TunnelEnd } from '../wire/client-exchange.ts';
import { Deadlines, type Timed } from '../wire/deadlines.ts';
import { BadHead, parseResponseHead, type ResponseHead } from '../wire/message-head.ts';
import { readClock } from '../wire/read-clock.ts';
import { RepeatedBytes } from '../wire/repeated-bytes.ts';
import { SocketTransport } from '../wire/transport.ts';

const CONNECT_TIMEOUT_MS = 5000;
/** Some servers close idle connections even earlier, after two seconds. */
const IDLE_TIMEOUT_MS = 4000;
const MAX_IDLE = 1024;
const MAX_HEAD_BYTES = 65_536;
const HEAD_END = Buffer.from('\r\n\r\n');
const NO_TRAILERS: RawHeaders = [];

/** `refused`: nothing listens there. */
export type ConnectFailure = 'refused' | 'timedOut' | 'unreachable';

/** Reads the response to a request it has sent. Bytes are valid only during the call. */
export interface AnswerReader {
  onAnswerHead(head: ResponseHead): void;
  /** A piece of the body: the bytes from `start` to `end`. */
  onAnswerData(bytes: Buffer, start: number, end: number): void;
  onAnswerEnd(trailers: RawHeaders): void;
  /** All bytes of one read were passed on: a good moment to flush. */
  onAnswerPause(): void;
  /** The upstream has read what was written. */
  onUpstreamDrain(): void;
  /** The connection ended, the response is not HTTP, or it did not come in time. */
  onUpstreamFailed(reason: string, hasTimedOut: boolean): void;
}

const deadlines = new Deadlines();

/** Resolves where to open a connection; null when the target does not listen there. */
export type Reach = () => Promise<{ host: string; port: number } | null>;

/** A target of requests, with a pool of connections. Close it when the target is gone. */
export class Upstream {
  readonly #where: { address: string; port: number } | Reach;
  /** The most recently used one is taken first, so that surplus connections time out. */
  readonly #idle: UpstreamConnection[] = [];
  #isClosed = false;

  /** `where`: a fixed address, or a function that resolves it before each new connection. */
  constructor(where: { address: string; port: number } | Reach) {
    this.#where = where;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes a connection that was idle for at most `maxIdleMs`, if there is one. */
  take(maxIdleMs: number): UpstreamConnection | undefined {
    const connection = this.#idle.at(-1);
    if (!connection) return undefined;
    if (maxIdleMs < IDLE_TIMEOUT_MS && readClock.now() - connection.idleSince > maxIdleMs) return undefined;
    this.#idle.pop();
    connection.deadlineAt = Number.POSITIVE_INFINITY;
    return connection;
  }

  /** Opens a connection. Exactly one of the callbacks is called, later. */
  connect(onConnected: (connection: UpstreamConnection) => void, onFailed: (failure: ConnectFailure) => void): void {
    if (typeof this.#where !== 'function') {
      new Attempt(this, this.#where, onConnected, onFailed);
      return;
    }
    this.#where().then(
      (at) => {
        if (at === null) onFailed('refused');
        else new Attempt(this, { address: at.host, port: at.port }, onConnected, onFailed);
      },
      () => onFailed('unreachable'),
    );
  }

  /** Returns a connection to the pool. */
  giveBack(connection: UpstreamConnection): void {
    if (this.#isClosed || this.#idle.length >= MAX_IDLE) {
      connection.destroy();
      return;
    }
    connection.idleSince = readClock.now();
    connection.deadlineAt = connection.idleSince + IDLE_TIMEOUT_MS;
    this.#idle.push(connection);
  }

  forget(connection: UpstreamConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  /** Closes idle connections now, busy ones after their response. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }
}

/** The opening of one connection. */
class Attempt implements TransportReader, Timed {
  deadlineAt = performance.now() + CONNECT_TIMEOUT_MS;
  readonly #transport: SocketTransport;
  readonly #onFailed: (failure: ConnectFailure) => void;
  #hasTimedOut = false;

  constructor(
    upstream: Upstream,
    at: { address: string; port: number },
    onConnected: (connection: UpstreamConnection) => void,
    onFailed: (failure: ConnectFailure) => void,
  ) {
    this.#onFailed = onFailed;
    this.#transport = SocketTransport.connect({
      ...at,
      onConnect: () => {
        deadlines.delete(this);
        onConnected(new UpstreamConnection(upstream, this.#transport));
      },
    });
    this.#transport.reader = this;
    deadlines.add(this);
  }

  onBytes(): void {}
  onEnd(): void {}
  onDrain(): void {}

  onClosed(error: NodeJS.ErrnoException | null): void {
    deadlines.delete(this);
    if (this.#hasTimedOut || error?.code === 'ETIMEDOUT') this.#onFailed('timedOut');
    else this.#onFailed(error?.code === 'ECONNREFUSED' ? 'refused' : 'unreachable');
  }

  onDeadline(): void {
    this.#hasTimedOut = true;
    this.#transport.destroy();
  }
}

/** A connection to an upstream: one request at a time, its response parsed strictly. */
export class UpstreamConnection implements TransportReader, Timed {
  readonly transport: Transport;
  idleSince = 0;
  deadlineAt = Number.POSITIVE_INFINITY;
  /** Responses so far. */
  answers = 0;
  readonly #upstream: Upstream;
  #reader: AnswerReader | null = null;
  #isHead = false;
  #isHeadRead = false;
  /** The latest head: within a second, servers mostly repeat it. `bytes`: once it came twice in a row. */
  #latest: { text: string; bytes: RepeatedBytes | null; isHead: boolean; head: ResponseHead } | null = null;
  #bodyLength: BodyLength = 0;
  /** Null until its first bytes, and for a body that comes with its head. */
  #body: BodyReader | null = null;
  #held: Buffer | null = null;
  readonly #onData = (data: Buffer): void => this.#reader?.onAnswerData(data, 0, data.length);

  constructor(upstream: Upstream, transport: Transport) {
    this.#upstream = upstream;
    this.transport = transport;
    transport.reader = this;
    deadlines.add(this);
  }

  /** Passes the next response to `reader`. */
  begin(reader: AnswerReader, isHead: boolean): void {
    this.#reader = reader;
    this.#isHead = isHead;
    this.#isHeadRead = false;
    this.#body = null;
  }

  /** Returns the connection to the pool after the response, if it can be reused. */
  giveBack(): void {
    this.#reader = null;
    this.deadlineAt = Number.POSITIVE_INFINITY;
    if (this.#held !== null || this.transport.isClosed) this.destroy();
    else this.#upstream.giveBack(this);
  }

  destroy(): void {
    this.#reader = null;
    this.transport.destroy();
  }

  /** After a 101: returns the transport with the bytes after the head. */
  detach(): TunnelEnd {
    deadlines.delete(this);
    this.#reader = null;
    return { transport: this.transport, head: this.#held ?? Buffer.alloc(0) };
  }

  /** The deadline of the response's head, or of an idle connection, has passed. */
  onDeadline(): void {
    this.#fail('it did not respond in time', true);
  }

  onBytes(chunk: Buffer): void {
    if (this.#reader === null) {
      this.destroy(); // bytes without a request
      return;
    }
    try {
      this.#read(this.#held === null ? chunk : Buffer.concat([this.#held, chunk]));
    } catch (error) {
      if (!(error instanceof BadHead)) throw error;
      this.#fail(`its response is not valid HTTP: ${error.message}`);
    }
    this.#reader?.onAnswerPause();
  }

  onEnd(): void {
    const reader = this.#reader;
    if (reader !== null && this.#isEndedByClose) {
      this.#reader = null;
      reader.onAnswerEnd([]);
      this.transport.destroy();
    } else this.#fail('it closed the connection before the end of its response');
  }

  onDrain(): void {
    this.#reader?.onUpstreamDrain();
  }

  onClosed(error: Error | null): void {
    deadlines.delete(this);
    this.#upstream.forget(this);
    this.#fail(
      error === null
        ? 'it closed the connection'
        : `the connection was lost (${(error as NodeJS.ErrnoException).code ?? error.message})`,
    );
  }

  #isEndedByClose = false;

  #read(bytes: Buffer): void {
    this.#held = null;
    let at = 0;
    while (!this.#isHeadRead) {
      const end = this.#readHead(bytes, at);
      if (end === -1) {
        if (bytes.length - at > MAX_HEAD_BYTES) throw new BadHead('its headers are too large');
        if (bytes.length > at) this.#held = Buffer.from(bytes.subarray(at));
        return;
      }
      at = end;
      this.#beginAnswer(this.#latest!.head, bytes, at);
      if (this.#reader === null) return; // the reader has detached or given up
    }
    this.#readBody(bytes, at);
  }

  /** Reads a head into `#latest`. Returns where it ends; -1 when more bytes are needed. */
  #readHead(bytes: Buffer, at: number): number {
    const latest = this.#latest?.isHead === this.#isHead ? this.#latest : null;
    if (latest?.bytes?.isAt(bytes, at)) return at + latest.bytes.length;
    const end = bytes.indexOf(HEAD_END, at) + 4;
    if (end < 4) return -1;
    const text = bytes.toString('latin1', at, end);
    if (latest?.text === text) latest.bytes = new RepeatedBytes(bytes.subarray(at, end));
    else this.#latest = { text, bytes: null, isHead: this.#isHead, head: parseResponseHead(text, this.#isHead) };
    return end;
  }

  #beginAnswer(head: ResponseHead, bytes: Buffer, at: number): void {
    if (head.status === 101) this.#held = Buffer.from(bytes.subarray(at));
    if (head.status >= 200) {
      this.#isHeadRead = true;
      this.#isEndedByClose = head.bodyLength === 'untilClose';
      this.#bodyLength = head.bodyLength;
    }
    this.#reader!.onAnswerHead(head);
  }

  #readBody(bytes: Buffer, at: number): void {
    const length = this.#bodyLength;
    if (this.#body === null && typeof length === 'number' && at + length <= bytes.length) {
      if (length > 0) this.#reader!.onAnswerData(bytes, at, at + length); // the whole body came with its head
      this.#endAnswer(bytes, at + length, NO_TRAILERS);
      return;
    }
    this.#body ??= new BodyReader(length);
    const end = at + this.#body.read(at === 0 ? bytes : bytes.subarray(at), this.#onData);
    if (this.#body.isDone) this.#endAnswer(bytes, end, this.#body.trailers);
  }

  #endAnswer(bytes: Buffer, end: number, trailers: RawHeaders): void {
    if (this.#reader === null) return;
    // Bytes after the response belong to no request: the connection is not reused.
    if (end < bytes.length) this.#held = Buffer.from(bytes.subarray(end));
    this.answers += 1;
    this.#reader.onAnswerEnd(trailers);
  }

  #fail(reason: string, hasTimedOut = false): void {
    const reader = this.#reader;
    this.destroy();
    reader?.onUpstreamFailed(reason, hasTimedOut);
  }
}
