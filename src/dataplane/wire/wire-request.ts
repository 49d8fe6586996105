import type { CallConnection, CallRequest } from '../../http/call-messages.ts';
import type { BodySink } from './client-exchange.ts';
import type { WireExchange } from './wire-exchange.ts';

type Listener = (chunk: Buffer) => void;

/**
 * The listeners of one message: a few at most, in two short lists, which cost a request less than an EventEmitter. All events but
 * `data` and `drain` happen once, so `once` differs from `on` for `drain` alone.
 */
export class WireEvents {
  readonly #events: string[] = [];
  readonly #listeners: Listener[] = [];

  on(event: string, listener: Listener): this {
    this.#events.push(event);
    this.#listeners.push(listener);
    return this;
  }

  once(event: string, listener: Listener): this {
    return this.on(event, listener);
  }

  off(event: string, listener: Listener): this {
    const at = this.#listeners.findIndex((known, i) => known === listener && this.#events[i] === event);
    if (at >= 0) this.#removeAt(at);
    return this;
  }

  /** Calls the listeners of a one-time event, each at most once. */
  protected emitOnce(event: string): void {
    for (let at = this.#events.indexOf(event); at >= 0; at = this.#events.indexOf(event)) {
      const listener = this.#listeners[at]!;
      this.#removeAt(at);
      listener(NOTHING);
    }
  }

  protected emitData(chunk: Buffer): void {
    for (let i = 0; i < this.#events.length; i++) if (this.#events[i] === 'data') this.#listeners[i]!(chunk);
  }

  #removeAt(at: number): void {
    this.#events.splice(at, 1);
    this.#listeners.splice(at, 1);
  }
}

const NOTHING = Buffer.alloc(0);

/** A request on a connection that is read here, not by node's server. */
export class WireRequest extends WireEvents implements CallRequest, BodySink {
  readonly url: string;
  readableEnded = false;
  readonly #exchange: WireExchange;
  #isFlowing = false;

  /** `url`: differs from the target where that has a prefix. */
  constructor(exchange: WireExchange, url: string) {
    super();
    this.#exchange = exchange;
    this.url = url;
  }

  get method(): string {
    return this.#exchange.method;
  }

  get headers(): CallRequest['headers'] {
    return this.#exchange.headers.record;
  }

  get socket(): CallConnection {
    return this.#exchange.connection;
  }

  get complete(): boolean {
    return this.#exchange.isBodyRead;
  }

  get destroyed(): boolean {
    return this.readableEnded || this.#exchange.isOver;
  }

  resume(): void {
    if (this.#exchange.isOver) return;
    if (this.#isFlowing) this.#exchange.resumeBody();
    else {
      this.#isFlowing = true;
      this.#exchange.readBody(this);
    }
  }

  /** Drops the unread body received so far, so that the connection can continue. */
  drop(): void {
    if (!this.#isFlowing) this.resume();
  }

  pause(): void {
    if (this.#isFlowing && !this.#exchange.isBodyRead && !this.#exchange.isOver) this.#exchange.pauseBody();
  }

  destroy(): void {
    this.#exchange.abort();
  }

  onBodyData(chunk: Buffer): void {
    this.emitData(chunk);
  }

  onBodyEnd(): void {
    this.readableEnded = true;
    this.emitOnce('end');
    this.emitOnce('close');
  }

  /** The body does not arrive any more. */
  close(): void {
    this.emitOnce('close');
  }
}
