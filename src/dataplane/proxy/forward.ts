import { FAILURES, Failure } from '../../core/errors.ts';
import { CLIENT_GONE } from '../../core/metrics.ts';
import type { BodySink, ClientExchange, ExchangeWatcher, RawHeaders } from './client-exchange.ts';
import { clientHeaders, upstreamHeaders } from './header-rules.ts';
import type { ResponseHead } from './message-head.ts';
import { refuse } from './refuse.ts';
import { tunnel } from './tunnel.ts';
import type { AnswerReader, ConnectFailure, Upstream, UpstreamConnection } from './upstream.ts';
import { lastChunk, writeBody } from './write-body.ts';

/** How requests are forwarded in this process. */
export interface ForwardSettings {
  /** Until the answer's first byte; 0: no limit. None applies once bytes flow. */
  answerTimeoutMs: number;
  /** Of a request's body; 0: no limit. */
  maxBodyBytes: number;
}

export interface ForwardOptions {
  /** Path and query for the upstream, where they are not those of the request. */
  target?: string;
  /** Lowercase names of request headers that are not passed on. */
  withheld?: ReadonlySet<string>;
  /** Headers of ours for the answer. They replace those of the upstream with the same name. */
  answerHeaders?: RawHeaders;
  /** Called when there is a connection, right before the first byte is sent. */
  onConnected?: () => void;
}

/**
 * How a request ended.
 * - `done`: it was answered completely (or, of an upgrade, the tunnel has closed).
 * - `notConnected`: no connection could be opened. Nothing was sent, nothing of the body read, nothing answered: it may
 *   be forwarded elsewhere.
 * - `failed`: after something was sent. The client has got a 502 or 504, or its connection was cut.
 * - `clientGone`: the client went away first.
 */
export type ForwardOutcome =
  | { kind: 'done'; status: number }
  | { kind: 'notConnected'; reason: ConnectFailure }
  | { kind: 'failed'; reason: string }
  | { kind: 'clientGone' };

/** The status of the answer as the client knows it; one that was cut off counts as a bad gateway. */
export function statusOf(outcome: Exclude<ForwardOutcome, { kind: 'notConnected' }>): number {
  if (outcome.kind === 'done') return outcome.status;
  return outcome.kind === 'clientGone' ? CLIENT_GONE : FAILURES.badGateway.status;
}

/** May be sent twice without harm (RFC 9110 section 9.2.2), as long as there is no body that would have to be kept. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);
/** Servers close idle connections just when they are used again. None does so this early. */
const FRESH_MS = 1000;
/** A connection that was closed before it got the request shows it at once; what fails later has perhaps begun the work. */
const STALE_WITHIN_MS = 1000;
const NO_HEADERS: RawHeaders = [];
const NOTHING: ReadonlySet<string> = new Set();

/** Hears how a request ended, once. */
export interface OutcomeReader {
  onOutcome(outcome: ForwardOutcome): void;
}

/** Passes one request to the upstream and its answer to the client, both as they come. Never rejects. */
export function forward(
  settings: ForwardSettings,
  exchange: ClientExchange,
  upstream: Upstream,
  options: ForwardOptions = {},
): Promise<ForwardOutcome> {
  return new Promise((onOutcome) => forwardFor({ onOutcome }, settings, exchange, upstream, options));
}

/** The same without a promise, which costs where there are thousands a second. The outcome may come before this returns. */
export function forwardFor(
  reader: OutcomeReader,
  settings: ForwardSettings,
  exchange: ClientExchange,
  upstream: Upstream,
  options: ForwardOptions,
): void {
  new Forwarding(settings, exchange, upstream, options, reader).start();
}

class Forwarding implements BodySink, AnswerReader, ExchangeWatcher {
  readonly #settings: ForwardSettings;
  readonly #exchange: ClientExchange;
  readonly #upstream: Upstream;
  readonly #options: ForwardOptions;
  readonly #reader: OutcomeReader;
  #connection: UpstreamConnection | null = null;
  /** Written with the first bytes of the body, if they are there already. */
  #unsent = '';
  #sentAt = 0;
  #bodyBytes = 0;
  #isRequestSent: boolean;
  #answer: ResponseHead | null = null;
  #isAnswerPaused = false;
  #isOver = false;
  #wasRepeated = false;

  constructor(
    settings: ForwardSettings,
    exchange: ClientExchange,
    upstream: Upstream,
    options: ForwardOptions,
    reader: OutcomeReader,
  ) {
    this.#settings = settings;
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#options = options;
    this.#reader = reader;
    this.#isRequestSent = exchange.bodyLength === 0;
  }

  start(): void {
    const { bodyLength, isOver } = this.#exchange;
    const { maxBodyBytes } = this.#settings;
    if (isOver) {
      this.#finish({ kind: 'clientGone' });
      return;
    }
    if (maxBodyBytes > 0 && typeof bodyLength === 'number' && bodyLength > maxBodyBytes) {
      this.#refuseTooLarge();
      return;
    }
    this.#exchange.watcher = this;
    const known = this.#upstream.take(this.#isRepeatable ? Number.POSITIVE_INFINITY : FRESH_MS);
    if (known) this.#send(known);
    else this.#connect();
  }

  get #isRepeatable(): boolean {
    return this.#exchange.bodyLength === 0 && REPEATABLE.has(this.#exchange.method);
  }

  #connect(): void {
    this.#upstream.connect(
      (connection) => {
        if (this.#isOver) connection.giveBack();
        else this.#send(connection);
      },
      (reason) => {
        if (this.#isOver) return;
        if (this.#wasRepeated) this.#fail('the connection was closed, and no other could be opened');
        else this.#finish({ kind: 'notConnected', reason });
      },
    );
  }

  #send(connection: UpstreamConnection): void {
    const exchange = this.#exchange;
    const { answerTimeoutMs } = this.#settings;
    this.#connection = connection;
    this.#sentAt = performance.now();
    if (answerTimeoutMs > 0) connection.deadlineAt = this.#sentAt + answerTimeoutMs;
    connection.begin(this, exchange.method === 'HEAD');
    this.#options.onConnected?.();
    this.#unsent = this.#requestHead();
    if (!this.#isRequestSent) exchange.readBody(this); // what of it came with the head goes out with the head
    this.#flush();
  }

  #requestHead(): string {
    const { method, headers, bodyLength, upgrade } = this.#exchange;
    const { target = this.#exchange.target, withheld = NOTHING } = this.#options;
    if (bodyLength !== 0 || upgrade !== null) return this.#makeRequestHead(target, withheld);
    const { sent } = headers;
    if (sent !== null && sent.withheld === withheld && sent.method === method && sent.target === target)
      return sent.text;
    const text = this.#makeRequestHead(target, withheld);
    headers.sent = { withheld, method, target, text };
    return text;
  }

  #makeRequestHead(target: string, withheld: ReadonlySet<string>): string {
    const { method, headers, bodyLength, upgrade, remoteAddress, isSecure, isTrusted } = this.#exchange;
    const client = { remoteAddress, isSecure, isTrusted };
    let head = `${method} ${target} HTTP/1.1\r\n${upstreamHeaders(headers, client, withheld)}`;
    if (upgrade !== null) head += `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
    if (bodyLength === 'chunked') head += 'Transfer-Encoding: chunked\r\n';
    else if (bodyLength > 0 || headers.get('content-length') !== undefined) head += `Content-Length: ${bodyLength}\r\n`;
    return `${head}\r\n`;
  }

  #flush(): void {
    if (this.#unsent === '' || this.#connection === null) return;
    this.#connection.wire.writeText(this.#unsent);
    this.#unsent = '';
  }

  onBodyData(chunk: Buffer): void {
    if (this.#connection === null) return;
    const { maxBodyBytes } = this.#settings;
    this.#bodyBytes += chunk.length;
    if (maxBodyBytes > 0 && this.#bodyBytes > maxBodyBytes) {
      this.#refuseTooLarge();
      return;
    }
    const { wire } = this.#connection;
    this.#unsent = writeBody(wire, this.#unsent, chunk, this.#exchange.bodyLength === 'chunked');
    this.#flush();
    if (wire.isFull) this.#exchange.pauseBody();
  }

  onBodyEnd(trailers: RawHeaders): void {
    this.#isRequestSent = true;
    if (this.#exchange.bodyLength === 'chunked') this.#unsent += lastChunk(trailers);
    this.#flush();
  }

  onUpstreamDrain(): void {
    if (!this.#isRequestSent) this.#exchange.resumeBody();
  }

  onAnswerHead(head: ResponseHead): void {
    const exchange = this.#exchange;
    this.#connection!.deadlineAt = Number.POSITIVE_INFINITY;
    if (head.status === 101) {
      this.#changeProtocol(head);
      return;
    }
    if (head.status < 200) {
      exchange.inform(head.status, head.reason, clientHeaders(head.headers, NO_HEADERS));
      return;
    }
    this.#answer = head;
    exchange.start({
      status: head.status,
      reason: head.reason,
      headers: clientHeaders(head.headers, this.#options.answerHeaders ?? NO_HEADERS),
      length: head.bodyLength === 0 ? head.announcedLength : head.bodyLength,
    });
  }

  onAnswerData(chunk: Buffer): void {
    if (this.#exchange.write(chunk)) return;
    this.#isAnswerPaused = true;
    this.#connection!.wire.pause();
  }

  onClientGone(): void {
    this.#finish({ kind: 'clientGone' });
  }

  onClientDrain(): void {
    if (!this.#isAnswerPaused) return;
    this.#isAnswerPaused = false;
    this.#connection?.wire.resume();
  }

  onAnswerPause(): void {
    if (this.#answer !== null) this.#exchange.flush();
  }

  onAnswerEnd(trailers: RawHeaders): void {
    const { status, isPersistent } = this.#answer!;
    const connection = this.#connection!;
    this.onClientDrain(); // nobody will have to wait for the end of this one
    this.#connection = null;
    // An answer that came before the whole request leaves a connection on which nobody knows what is next.
    if (isPersistent && this.#isRequestSent) connection.giveBack();
    else connection.destroy();
    this.#exchange.end(trailers);
    this.#finish({ kind: 'done', status });
  }

  onUpstreamFailed(reason: string, hasTimedOut: boolean): void {
    const wasUsed = this.#connection !== null && this.#connection.answers > 0;
    this.#connection = null;
    const isStale = wasUsed && performance.now() - this.#sentAt < STALE_WITHIN_MS;
    if (this.#answer === null && isStale && this.#isRepeatable && !this.#wasRepeated) {
      this.#wasRepeated = true;
      this.#connect();
    } else this.#fail(reason, hasTimedOut);
  }

  /** What was begun cannot be taken back, but it can be cut, so that nobody takes the part for the whole. */
  #fail(reason: string, hasTimedOut = false): void {
    if (this.#answer !== null) this.#exchange.abort();
    else if (hasTimedOut) refuse(this.#exchange, new Failure('gatewayTimeout', 'The server did not answer in time.'));
    else refuse(this.#exchange, new Failure('badGateway', `The server failed to answer: ${reason}.`));
    this.#finish({ kind: 'failed', reason });
  }

  #refuseTooLarge(): void {
    const detail = `The request body is larger than ${this.#settings.maxBodyBytes} bytes.`;
    if (this.#answer === null) refuse(this.#exchange, new Failure('contentTooLarge', detail));
    else this.#exchange.abort();
    this.#finish({ kind: 'done', status: FAILURES.contentTooLarge.status });
  }

  /** Nobody asked, nobody may change. Otherwise bytes of any kind go both ways until both sides have closed. */
  #changeProtocol(head: ResponseHead): void {
    const exchange = this.#exchange;
    if (exchange.upgrade === null) {
      this.#fail('it changed the protocol without being asked');
      return;
    }
    const protocol = head.headers.get('upgrade') ?? exchange.upgrade;
    const kept = clientHeaders(head.headers, this.#options.answerHeaders ?? NO_HEADERS);
    const headers = [...kept, 'Connection', 'Upgrade', 'Upgrade', protocol];
    const upstream = this.#connection!.detach();
    this.#connection = null;
    exchange.start({ status: 101, reason: head.reason, headers, length: null });
    tunnel(exchange.detach(), upstream, () => this.#finish({ kind: 'done', status: 101 }));
  }

  #finish(outcome: ForwardOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection?.destroy();
    this.#connection = null;
    this.#exchange.watcher = null;
    this.#reader.onOutcome(outcome);
  }
}
