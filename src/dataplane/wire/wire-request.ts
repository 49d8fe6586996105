import type { CallConnection, CallRequest } from '../../http/call-messages.ts';
import type { BodySink } from './client-exchange.ts';
import { WireEvents } from './wire-events.ts';
import type { WireExchange } from './wire-exchange.ts';

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

  /** Drops what has arrived of a body that nobody reads, so that the connection can go on. */
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
