import { READER_CHECK_MS } from '../../core/flow/taken-bytes.ts';
import type { ConnectionPace, PacedTaker } from '../../http/floods/refusal-pace.ts';
import { enterRequestTurn, leaveRequestTurn } from '../../http/floods/request-turns.ts';
import { CHECK_MS } from '../../http/floods/slow-bodies.ts';
import type { TransportReader } from './client-exchange.ts';
import { ClientProgress } from './client-progress.ts';
import type { ConnectionOwner, Unreadable, WireHandler } from './connection-owner.ts';
import type { Timed } from './deadlines.ts';
import { HeadReader, HeadTooLarge } from './head-reader.ts';
import type { HeaderList } from './header-list.ts';
import { BadHead, type RequestHead } from './message-head.ts';
import { readClock } from './read-clock.ts';
import type { SocketTransport } from './transport.ts';
import { type ConnectionClient, type ExchangeConnection, type SentWatcher, WireExchange } from './wire-exchange.ts';

const HEAD_TIMEOUT_MS = 30_000;
/** How long a client that is still sending has to read the final response, once the kernel has all of it. */
const LINGER_MS = 2000;
/** Pipelined bytes are held up to this limit; then reading pauses until their turn. */
const MAX_HELD_BYTES = 65_536;
/** Limits of one turn of a connection: so many requests, and none after so many ms. */
const TURN_REQUESTS = 16;
const TURN_MS = 0.25;
const NOTHING: Buffer = Buffer.alloc(0);
const NEVER = Number.POSITIVE_INFINITY;

/**
 * One connection of a client. Reads requests strictly, one after the other, and passes each to its handler as an exchange.
 * The first that has no handler is handed off with the connection. What comes before the answer waits for a turn, and after refusals for its pace.
 */
export class ClientConnection implements TransportReader, Timed, ExchangeConnection, PacedTaker {
  readonly transport: SocketTransport;
  readonly client: ConnectionClient;
  deadlineAt = performance.now() + HEAD_TIMEOUT_MS;
  readonly owner: ConnectionOwner;
  readonly pace: ConnectionPace;
  #exchange: WireExchange | null = null;
  /** Bytes read and not yet used. */
  #held: Buffer = NOTHING;
  /** True while `#held` is in the wire's shared buffer. */
  #isBorrowed = false;
  /** True while the next request waits for a turn. */
  #isWaiting = false;
  /** The client has ended its side; what it sent before is answered. */
  #hasEnded = false;
  #isPaused = false;
  readonly #heads: HeadReader;
  readonly #progress: ClientProgress;
  #isReading = false;
  #isLingering = false;
  #isDetached = false;
  /** Ended responses whose last part has not left yet. */
  readonly #sending: SentWatcher[] = [];

  constructor(transport: SocketTransport, owner: ConnectionOwner, client: ConnectionClient & { pace: ConnectionPace }) {
    this.transport = transport;
    this.owner = owner;
    this.#heads = new HeadReader(owner);
    this.#progress = new ClientProgress(transport);
    this.client = client;
    this.pace = client.pace;
    transport.reader = this;
    owner.deadlines.add(this);
  }

  get isIdle(): boolean {
    return this.#exchange === null && this.#held.length === 0 && this.transport.unsentBytes === 0;
  }

  get destroyed(): boolean {
    return this.transport.isClosed;
  }

  get bytesWritten(): number {
    return this.transport.sentBytes;
  }

  setTimeout(ms: number): void {
    if (this.isIdle) this.deadlineAt = ms === 0 ? NEVER : performance.now() + ms;
  }

  onBytes(chunk: Buffer): void {
    if (this.#isLingering) return;
    const exchange = this.#exchange;
    if (exchange?.isReadingBody && this.#held.length === 0) {
      const used = exchange.feed(chunk);
      if (used < chunk.length) this.#hold(chunk.subarray(used));
      this.#readOn(); // the end of the body may have been the end of the exchange
      return;
    }
    const isNext = exchange === null && !this.#isWaiting;
    if (isNext && this.#held.length === 0) {
      this.#held = chunk;
      this.#isBorrowed = true; // valid only during this call: what is left is copied
    } else this.#hold(chunk);
    if (isNext) this.#readRequests(1);
  }

  onEnd(): void {
    if (this.#exchange === null && this.#isWaiting) this.#hasEnded = true;
    else if (this.#exchange === null) this.transport.closeSoon();
    else this.transport.destroy(); // the client gave up its response
  }

  onDrain(): void {
    this.#exchange?.watcher?.onClientDrain();
    for (const watcher of this.#sending.splice(0)) watcher.onSent();
    if (this.#isLingering) this.deadlineAt = performance.now() + LINGER_MS;
    else this.#readOn();
  }

  onClosed(): void {
    this.owner.deadlines.delete(this);
    this.pace.leave(this);
    this.#endExchange();
    for (const watcher of this.#sending.splice(0)) watcher.onClientGone();
    this.owner.onClosed(this);
  }

  onDeadline(): void {
    if (this.#exchange !== null) this.#checkBody(this.#exchange);
    else if (this.transport.unsentBytes > 0) this.#checkReading();
    else if (this.#isWaiting) this.deadlineAt = performance.now() + HEAD_TIMEOUT_MS;
    else if (this.#isLingering || this.#held.length === 0) this.transport.destroy();
    else this.#refuse('tooSlow');
  }

  /** Cuts a client that does not read a response which the kernel has not taken as a whole. */
  #checkReading(): void {
    if (this.#progress.readsTooSlowly()) this.transport.destroy();
    else this.deadlineAt = performance.now() + READER_CHECK_MS;
  }

  watchBody(): void {
    this.#progress.watchBody(performance.now());
    this.deadlineAt = performance.now() + CHECK_MS;
  }

  #checkBody(exchange: WireExchange): void {
    if (exchange.isBodyRead || !this.#progress.watchesBody) return;
    const now = performance.now();
    this.deadlineAt = now + CHECK_MS;
    if (!exchange.isReadingBody)
      this.#progress.watchBody(now); // it waits for us, for memory perhaps
    else if (this.#progress.sendsTooSlowly(now)) {
      if (exchange.isStarted) this.transport.destroy();
      else this.#refuse('slowBody', exchange.target);
      this.#endExchange();
    }
  }

  /** Calls the watcher once all that was written has left, at once if it has. */
  awaitSent(watcher: SentWatcher): void {
    if (this.transport.isClosed) watcher.onClientGone();
    else if (this.transport.unsentBytes > 0) this.#sending.push(watcher);
    else watcher.onSent();
  }

  /** Closes the connection if it is idle, and its client has what was sent; also if its next request waits for its pace. */
  close(): void {
    if ((this.isIdle || this.pace.isWaiting) && !this.#isDetached) this.transport.destroy();
  }

  destroy(): void {
    this.transport.destroy();
  }

  feedBody(exchange: WireExchange): void {
    const held = this.#held;
    if (held.length > 0) {
      this.#held = NOTHING;
      const used = exchange.feed(held);
      this.#held = used < held.length ? held.subarray(used) : NOTHING;
      this.#readOn();
    }
    if (!exchange.isBodyPaused) this.#readMore();
  }

  pause(): void {
    this.#isPaused = true;
    this.transport.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.transport.resume();
  }

  finish(exchange: WireExchange, isPersistent: boolean): void {
    if (this.#exchange !== exchange) return;
    this.#exchange = null;
    if (!this.#isReading) leaveRequestTurn(this); // else its turn continues
    if (exchange.isRefused) this.pace.refused(1, this.#forwardedFor(exchange.headers));
    else this.pace.passed();
    if (isPersistent) {
      this.deadlineAt = readClock.now() + this.owner.idleTimeoutMs;
      this.#readMore();
      this.#readOn();
    } else this.#linger();
  }

  detach(): Buffer {
    this.#isDetached = true;
    this.owner.deadlines.delete(this);
    this.transport.socket.once('close', () => this.owner.onClosed(this));
    this.#exchange = null;
    leaveRequestTurn(this);
    const held = this.#held;
    this.#held = NOTHING;
    return held;
  }

  onBadBody(exchange: WireExchange): void {
    if (exchange.isStarted) this.transport.destroy();
    else this.#refuse('invalid');
    this.#endExchange();
  }

  #endExchange(): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    leaveRequestTurn(this);
    exchange?.onClientGone();
  }

  #hold(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    if (this.#held.length >= MAX_HELD_BYTES) this.pause();
  }

  /** Resumes reading from the transport when few enough bytes are held. */
  #readMore(): void {
    if (this.#isPaused && this.#held.length < MAX_HELD_BYTES) this.resume();
  }

  /** Reads what is held, in a turn, or ends the connection as its client did. */
  #readOn(): void {
    if (this.#exchange !== null || this.#isReading || this.#isWaiting) return;
    if (this.#held.length === 0 && !this.#hasEnded) return;
    this.#isWaiting = true;
    enterRequestTurn(this);
  }

  takeTurn(): void {
    this.#isWaiting = false;
    this.pace.resume();
    if (!this.transport.isClosed && !this.#isDetached) this.#takeTurn();
    if (this.#exchange === null && !this.#isWaiting) leaveRequestTurn(this); // else it waits for its next turn, or its answer
  }

  #takeTurn(): void {
    this.#readRequests(TURN_REQUESTS);
    if (this.#exchange !== null || this.#isLingering || this.#isDetached) return;
    this.#readMore();
    const isDone = this.#held.length === 0 || this.transport.unsentBytes === 0;
    if (this.#hasEnded && !this.#isWaiting && isDone) this.transport.closeSoon();
  }

  /**
   * Reads requests, at most `count`; the others wait for a turn. A loop, not recursion: a client may pipeline thousands of
   * requests that are answered synchronously. It gets no more answers than it reads.
   */
  #readRequests(count: number): void {
    this.#isReading = true;
    const endsAt = count === 1 ? NEVER : performance.now() + TURN_MS;
    let isReady = true;
    try {
      for (let left = count; left > 0 && isReady && this.#mayRead(); left -= 1) {
        isReady = this.#readRequest();
        if (endsAt !== NEVER && performance.now() >= endsAt) left = 0;
      }
    } catch (error) {
      if (!(error instanceof BadHead)) throw error;
      this.#refuse(error instanceof HeadTooLarge ? 'tooLarge' : 'invalid');
    }
    this.#isReading = false;
    if (this.#isBorrowed) {
      this.#isBorrowed = false;
      if (this.#held.length > 0) this.#held = Buffer.from(this.#held);
      if (this.#held.length >= MAX_HELD_BYTES) this.pause();
    }
    if (isReady && this.#mayRead()) this.#readOn();
  }

  #mayRead(): boolean {
    const isOpen = !this.transport.isClosed && !this.#isLingering && !this.#isDetached;
    return isOpen && this.#exchange === null && this.#held.length > 0 && !this.transport.isFull;
  }

  /** When the client must wait before its next request is served, a turn comes later. */
  #waitsIf(mustWait: boolean): boolean {
    if (!mustWait) return false;
    this.#isWaiting = true;
    leaveRequestTurn(this);
    return true;
  }

  /** The request's client according to a trusted proxy. */
  #forwardedFor(headers: HeaderList): string | undefined {
    return this.client.isTrusted ? (headers.record['x-forwarded-for'] as string | undefined) : undefined;
  }

  /** Returns false when more bytes are needed, or the connection was refused, handed off, or has to send answers before. */
  #readRequest(): boolean {
    if (this.#waitsIf(this.pace.mustWait(this))) return false;
    const bytes = this.#held;
    const request = this.#heads.read(bytes);
    if (request === null) {
      this.deadlineAt = Math.min(this.deadlineAt, performance.now() + HEAD_TIMEOUT_MS);
      return false;
    }
    if (request.handler !== null) return this.#begin(request.head, request.handler, bytes, request.end);
    this.transport.flush();
    if (this.transport.unsentBytes > 0) return false; // `onDrain` reads it again
    this.#held = NOTHING;
    this.#isDetached = true;
    this.owner.deadlines.delete(this);
    this.owner.handOff(this, Buffer.from(bytes.subarray(request.start)));
    return false;
  }

  /** Passes on the request, whose body starts at `end`, unless its client has to wait. */
  #begin(head: RequestHead, handler: WireHandler, bytes: Buffer, end: number): boolean {
    if (this.client.isTrusted && this.#waitsIf(this.pace.mustWaitFor(this.#forwardedFor(head.headers), this)))
      return false;
    this.#held = end === bytes.length ? NOTHING : bytes.subarray(end);
    this.deadlineAt = NEVER;
    this.#progress.reset();
    this.#exchange = new WireExchange(this, head);
    handler(this.#exchange);
    return true;
  }

  #refuse(reason: Unreadable, target?: string): void {
    this.pace.refused();
    this.transport.writeText(this.owner.refusal(reason, target));
    this.#linger();
  }

  /** Closes after a delay: closing while the client still sends would reset the connection and lose the response. */
  #linger(): void {
    this.#isLingering = true;
    this.#held = NOTHING;
    this.#progress.reset();
    this.transport.end();
    if (this.transport.unsentBytes > 0) this.#checkReading();
    else this.deadlineAt = performance.now() + LINGER_MS;
    this.resume();
  }
}
