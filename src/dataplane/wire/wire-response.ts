import { systemClock } from '../../core/clock.ts';
import { STATUS_CODES } from '../../core/node-http.ts';
import type { CallConnection, CallRequest, CallResponse } from '../../http/call-messages.ts';
import type { ExchangeWatcher } from './client-exchange.ts';
import type { WireExchange } from './wire-exchange.ts';
import { WireEvents, WireRequest } from './wire-request.ts';

const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/;

/** The response to a `WireRequest`. Each `write` leaves at the end of the event loop's turn. */
class WireResponse extends WireEvents implements CallResponse, ExchangeWatcher {
  readonly req: WireRequest;
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readonly #exchange: WireExchange;
  /** Lines of every response. */
  readonly #lines: string;

  constructor(exchange: WireExchange, req: WireRequest, lines = '') {
    super();
    this.req = req;
    this.#exchange = exchange;
    this.#lines = lines;
    exchange.watcher = this;
  }

  get socket(): CallConnection {
    return this.#exchange.connection;
  }

  get writableNeedDrain(): boolean {
    return !this.writableEnded && this.#exchange.connection.transport.isFull;
  }

  get writableLength(): number {
    return this.#exchange.connection.transport.unsentBytes;
  }

  /** Throws for a value that would end its line; then nothing is sent. */
  writeHead(status: number, headers: readonly (string | number)[]): void {
    let lines = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${this.#lines}`;
    let length: number | 'chunked' | null = status === 204 || status === 304 ? null : 'chunked';
    for (let i = 0; i < headers.length; i += 2) {
      const value = headers[i + 1]!;
      if (headers[i] === 'content-length') length = Number(value);
      else if (typeof value === 'string' && UNSAFE.test(value)) throw new Error(`${headers[i]} cannot be a header`);
      else lines += `${headers[i]}: ${value}\r\n`;
    }
    this.req.drop();
    this.statusCode = status;
    this.headersSent = true;
    this.#exchange.startLines(status, `${lines}Date: ${dateNow()}\r\n`, length);
  }

  write(chunk: string | Buffer): boolean {
    if (this.writableEnded) return true;
    this.#append(chunk);
    this.#exchange.flush();
    return !this.#exchange.connection.transport.isFull;
  }

  end(text = ''): void {
    if (this.writableEnded) return;
    this.#append(text);
    this.writableEnded = true;
    if (this.destroyed) return;
    this.#exchange.end([]);
    this.#exchange.connection.awaitSent(this);
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#exchange.connection.destroy();
  }

  /** All of the ended response has left. */
  onSent(): void {
    this.writableFinished = true;
    this.emitOnce('finish');
    this.onClientGone();
  }

  onClientGone(): void {
    this.destroyed = true;
    this.req.close();
    this.emitOnce('close');
  }

  onClientDrain(): void {
    this.emitOnce('drain');
  }

  #append(chunk: string | Buffer): void {
    if (typeof chunk === 'string') this.#exchange.writeText(chunk);
    else this.#exchange.writeOwned(chunk);
  }
}

let dateSecond = 0;
let date = '';

/** Returns the time as `Date` has it, rendered once a second. */
function dateNow(): string {
  const second = Math.floor(systemClock.now() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(second * 1_000).toUTCString();
  }
  return date;
}

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/**
 * Serves an exchange with a handler of requests. Its body has to arrive in time (http/floods/slow-bodies.ts). `Expect` is answered
 * as node does. `lines`: of every response's head.
 */
export function answerOnWire(
  exchange: WireExchange,
  url: string,
  lines: string,
  handle: (req: CallRequest, res: CallResponse) => void,
): void {
  const expected = exchange.minorVersion === 1 ? exchange.headers.get('expect') : undefined;
  if (expected !== undefined) {
    if (!CONTINUE.test(expected)) {
      exchange.answer(417, 'Expectation Failed', [], '');
      return;
    }
    exchange.inform(100, 'Continue', []);
  }
  if (!exchange.isBodyRead) exchange.connection.watchBody();
  const req = new WireRequest(exchange, url);
  handle(req, new WireResponse(exchange, req, lines));
}
