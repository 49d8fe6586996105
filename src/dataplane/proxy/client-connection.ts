import type { ExchangeHandler, WireReader } from './client-exchange.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { BadHead, parseRequestHead, type RequestHead } from './message-head.ts';
import type { SocketWire } from './wire.ts';
import { type ExchangeConnection, WireExchange } from './wire-exchange.ts';

/** Why a connection is not read on. */
export type Unreadable = 'invalid' | 'tooLarge' | 'tooSlow';

/** What a connection leaves to its owner. */
export interface ConnectionOwner {
  /** Who answers this request; null: nobody of the proxy, so that the connection is handed over. */
  dispatch(head: RequestHead): ExchangeHandler | null;
  /** The connection is not ours any more. `unread` begins with a request. */
  handOff(connection: ClientConnection, unread: Buffer): void;
  /** A whole answer, as it goes on the wire, for what cannot be read. */
  refusal(reason: Unreadable): string;
  onClosed(connection: ClientConnection): void;
  readonly deadlines: Deadlines;
  /** True when answers shall be the last of their connections. */
  readonly isClosing: boolean;
}

const MAX_HEAD_BYTES = 32_768;
const HEAD_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 75_000;
/** How long a client that is still sending may take to see that it was answered and cut off. */
const LINGER_MS = 2000;
/** What a client sends ahead of its turn is kept up to here, then not read until it is its turn. */
const MAX_HELD_BYTES = 65_536;
const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 13;
const LF = 10;
const NOTHING: Buffer = Buffer.alloc(0);
const NEVER = Number.POSITIVE_INFINITY;

/**
 * One connection of a client: reads requests strictly, one after the other, and gives each to its handler as an exchange.
 * The first that is nobody's business here takes the connection with it.
 */
export class ClientConnection implements WireReader, Timed, ExchangeConnection {
  readonly wire: SocketWire;
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  readonly isTrusted: boolean;
  deadlineAt = performance.now() + HEAD_TIMEOUT_MS;
  readonly owner: ConnectionOwner;
  #exchange: WireExchange | null = null;
  /** Read, and not yet used. */
  #held: Buffer = NOTHING;
  #isPaused = false;
  /** The latest head that was parsed: its block of fields is known. */
  #previous: RequestHead | null = null;
  /** One that came twice in a row: some clients ask for the same over and over, and it is not parsed again. */
  #latest: { bytes: Buffer; head: RequestHead } | null = null;
  #isReading = false;
  #isLingering = false;
  #isDetached = false;

  constructor(
    wire: SocketWire,
    owner: ConnectionOwner,
    client: { remoteAddress: string; isSecure: boolean; isTrusted: boolean },
  ) {
    this.wire = wire;
    this.owner = owner;
    this.remoteAddress = client.remoteAddress;
    this.isSecure = client.isSecure;
    this.isTrusted = client.isTrusted;
    wire.reader = this;
    owner.deadlines.add(this);
  }

  get isClosing(): boolean {
    return this.owner.isClosing;
  }

  get isIdle(): boolean {
    return this.#exchange === null && this.#held.length === 0;
  }

  onBytes(chunk: Buffer): void {
    if (this.#isLingering) return;
    const exchange = this.#exchange;
    if (exchange?.isReadingBody && this.#held.length === 0) {
      const used = exchange.feed(chunk);
      if (used < chunk.length) this.#hold(chunk.subarray(used));
      return;
    }
    if (exchange === null && this.#held.length === 0) {
      this.#held = chunk; // only until the end of this call: #readRequests copies what it leaves
      this.#readRequests();
    } else {
      this.#hold(chunk);
      if (exchange === null) this.#readRequests();
    }
  }

  onEnd(): void {
    if (this.#exchange === null) this.wire.closeSoon();
    else this.wire.destroy(); // who says no more while an answer is due has given up
  }

  onDrain(): void {
    this.#exchange?.watcher?.onClientDrain();
  }

  onClosed(): void {
    this.owner.deadlines.delete(this);
    this.#lose();
    this.owner.onClosed(this);
  }

  onDeadline(): void {
    if (this.#isLingering || this.isIdle) this.wire.destroy();
    else if (this.#exchange === null) this.#refuse('tooSlow');
  }

  /** Nothing more is answered here. */
  close(): void {
    if (this.isIdle && !this.#isDetached) this.wire.destroy();
  }

  destroy(): void {
    this.wire.destroy();
  }

  feedBody(exchange: WireExchange): void {
    const held = this.#held;
    if (held.length > 0) {
      this.#held = NOTHING;
      const used = exchange.feed(held);
      this.#held = used < held.length ? held.subarray(used) : NOTHING;
    }
    if (this.#isPaused && !exchange.isBodyPaused) this.resume();
  }

  pause(): void {
    this.#isPaused = true;
    this.wire.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.wire.resume();
  }

  finish(exchange: WireExchange, isPersistent: boolean): void {
    if (this.#exchange !== exchange) return;
    this.#exchange = null;
    if (isPersistent) {
      this.deadlineAt = performance.now() + IDLE_TIMEOUT_MS;
      if (this.#isPaused) this.resume();
      if (this.#held.length > 0 && !this.#isReading) this.#readRequests();
    } else this.#linger();
  }

  detach(): Buffer {
    this.#isDetached = true;
    this.owner.deadlines.delete(this);
    this.wire.socket.once('close', () => this.owner.onClosed(this));
    this.#exchange = null;
    const held = this.#held;
    this.#held = NOTHING;
    return held;
  }

  onBadBody(exchange: WireExchange): void {
    if (exchange.isStarted) this.wire.destroy();
    else this.#refuse('invalid');
    this.#lose();
  }

  #lose(): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.lose();
  }

  #hold(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    if (this.#held.length >= MAX_HELD_BYTES) this.pause();
  }

  /** A loop, not a recursion: a client may send a thousand requests at once, each answered on the spot. */
  #readRequests(): void {
    this.#isReading = true;
    try {
      while (this.#exchange === null && this.#held.length > 0 && this.#readRequest());
    } catch (error) {
      if (!(error instanceof BadHead)) throw error;
      this.#refuse('invalid');
    }
    this.#isReading = false;
    // What is left may lie in the wire's own buffer.
    if (this.#held.length > 0) this.#held = Buffer.from(this.#held);
  }

  /** Answers false when more must come first, or nothing shall. */
  #readRequest(): boolean {
    const bytes = this.#held;
    const latest = this.#latest;
    if (latest !== null && beginsWith(bytes, latest.bytes))
      return this.#begin(latest.head, bytes, 0, latest.bytes.length);
    let at = 0;
    while (bytes[at] === CR && bytes[at + 1] === LF) at += 2; // some send an empty line after a body
    const end = bytes.indexOf(HEAD_END, at);
    if (end === -1 || end - at > MAX_HEAD_BYTES) {
      if (bytes.length - at > MAX_HEAD_BYTES) this.#refuse('tooLarge');
      else if (hasBareLineFeed(bytes, at)) throw new BadHead('a line does not end with CR LF');
      else if (this.deadlineAt > performance.now() + HEAD_TIMEOUT_MS)
        this.deadlineAt = performance.now() + HEAD_TIMEOUT_MS;
      return false;
    }
    const head = parseRequestHead(bytes.toString('latin1', at, end + 4), this.#previous?.block);
    if (isSame(head, this.#previous)) this.#latest = { bytes: copyOf(bytes.subarray(at, end + 4)), head };
    this.#previous = head;
    return this.#begin(head, bytes, at, end + 4);
  }

  /** Its body is what follows from `end` on. */
  #begin(head: RequestHead, bytes: Buffer, at: number, end: number): boolean {
    const handler = this.owner.dispatch(head);
    if (handler === null) {
      this.#held = NOTHING;
      this.owner.deadlines.delete(this);
      this.owner.handOff(this, Buffer.from(bytes.subarray(at)));
      return false;
    }
    this.#held = end === bytes.length ? NOTHING : bytes.subarray(end);
    this.deadlineAt = NEVER;
    this.#exchange = new WireExchange(this, head);
    handler(this.#exchange);
    return true;
  }

  #refuse(reason: Unreadable): void {
    this.#held = NOTHING;
    this.wire.writeText(this.owner.refusal(reason));
    this.#linger();
  }

  /** A connection closed while the client still sends is reset, and the answer may be lost with it. */
  #linger(): void {
    this.#isLingering = true;
    this.#held = NOTHING;
    this.deadlineAt = performance.now() + LINGER_MS;
    this.wire.end();
    this.resume();
  }
}

function isSame(head: RequestHead, previous: RequestHead | null): boolean {
  return (
    head.block === previous?.block &&
    head.target === previous.target &&
    head.method === previous.method &&
    head.minorVersion === previous.minorVersion
  );
}

/** A head ends where it ended before if all of it is there again: the empty line is the first one in it. */
function beginsWith(bytes: Buffer, head: Buffer): boolean {
  const { length } = head;
  return bytes.length >= length && bytes.compare(head, 0, length, 0, length) === 0;
}

/** Not from node's pool, of which a small piece would hold eight KiB. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function hasBareLineFeed(bytes: Buffer, at: number): boolean {
  for (let lf = bytes.indexOf(LF, at); lf !== -1; lf = bytes.indexOf(LF, lf + 1)) {
    if (lf === at || bytes[lf - 1] !== CR) return true;
  }
  return false;
}
