import { FAILURES, Failure } from '../../core/errors.ts';
import type { BodySink, ClientExchange, ExchangeWatcher, RawHeaders } from '../wire/client-exchange.ts';
import type { ResponseHead } from '../wire/message-head.ts';
import { readClock } from '../wire/read-clock.ts';
import { lastChunk, writeBody } from '../wire/write-body.ts';
import type { ForwardOutcome } from './forward-outcome.ts';
import { clientHead, clientHeaders, upstreamRequestHead } from './header-rules.ts';
import { refuse } from './refuse.ts';
import { type Tunnel, tunnel } from './tunnel.ts';
import type { AnswerReader, Upstream, UpstreamConnection } from './upstream.ts';

/** Limits of forwarded requests. */
export interface ForwardSettings {
  /** Until the response's first byte; 0: no limit. No limit applies after it. */
  answerTimeoutMs: number;
  /** Limit of a request's body; 0: none. */
  maxBodyBytes: number;
}

export interface ForwardOptions {
  /** Path and query for the upstream. Default: those of the request. */
  target?: string;
  /** Lowercase names of request headers that are not passed on. */
  withheld?: ReadonlySet<string>;
  /** Headers for the response. They replace the upstream's headers of the same name. */
  answerHeaders?: RawHeaders;
  /** Called when connected, right before the first byte is sent. */
  onConnected?: () => void;
}

/** Methods that may be sent twice (RFC 9110 section 9.2.2), without a body, which would have to be kept. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);
/** A request that cannot be repeated takes no connection that was idle longer: its server may be closing it. */
const FRESH_MS = 1000;
/** A connection closed before it got the request fails within this time; a later failure may follow work begun. */
const STALE_WITHIN_MS = 1000;
/** Interim responses (1xx) to a request: `102 Processing` every few seconds is meant to be sent, a stream of them is not. */
const MAX_INTERIMS = 1_000;
const NO_HEADERS: RawHeaders = [];
const NONE_WITHHELD: ReadonlySet<string> = new Set();

/** Receives the outcome of a request, once. */
export interface OutcomeReader {
  onOutcome(outcome: ForwardOutcome): void;
  /** Called at most once, when the response is still open after its first bytes: a stream or a tunnel. */
  onLasting?(request: Forwarded): void;
}

/** A request on its way. */
export interface Forwarded {
  /** Ends it on both sides: the client gets `why` unless its response has begun. The outcome follows. */
  cut(why: Failure): void;
}

/**
 * Streams one request to the upstream and its response to the client. Never throws. Returns what cuts it; the outcome may come
 * earlier. Takes a reader, since a promise is costly at thousands per second.
 */
export function forward(
  reader: OutcomeReader,
  settings: ForwardSettings,
  exchange: ClientExchange,
  upstream: Upstream,
  options: ForwardOptions,
): Forwarded {
  const forwarding = new Forwarding(settings, exchange, upstream, options, reader);
  forwarding.start();
  return forwarding;
}

class Forwarding implements BodySink, AnswerReader, ExchangeWatcher, Forwarded {
  readonly #settings: ForwardSettings;
  readonly #exchange: ClientExchange;
  readonly #upstream: Upstream;
  readonly #options: ForwardOptions;
  readonly #reader: OutcomeReader;
  #connection: UpstreamConnection | null = null;
  /** Text to write with the next bytes of the body. */
  #unsent = '';
  #sentAt = 0;
  #bodyBytes = 0;
  #isRequestSent: boolean;
  #answer: ResponseHead | null = null;
  /** The head is sent with what follows it: where that has no valid framing, the client gets a 502 instead. */
  #isAnswerStarted = false;
  #isAnswerPaused = false;
  /** Interim responses so far. */
  #interims = 0;
  #isLasting = false;
  #tunnel: Tunnel | null = null;
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
        if (this.#wasRepeated) this.#fail('it closed the connection, and no other could be opened');
        else this.#finish({ kind: 'notConnected', reason });
      },
    );
  }

  #send(connection: UpstreamConnection): void {
    const exchange = this.#exchange;
    const { answerTimeoutMs } = this.#settings;
    this.#connection = connection;
    this.#sentAt = readClock.now();
    if (answerTimeoutMs > 0) connection.deadlineAt = this.#sentAt + answerTimeoutMs;
    connection.begin(this, exchange.method === 'HEAD');
    this.#options.onConnected?.();
    const { target = exchange.target, withheld = NONE_WITHHELD } = this.#options;
    const head = upstreamRequestHead(exchange, target, withheld);
    if (typeof head !== 'string') {
      connection.transport.writeKept(head);
      return;
    }
    this.#unsent = head;
    if (!this.#isRequestSent) exchange.readBody(this); // what came with the head is sent with the head
    this.#flush();
  }

  #flush(): void {
    if (this.#unsent === '' || this.#connection === null) return;
    this.#connection.transport.writeText(this.#unsent);
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
    const { transport } = this.#connection;
    this.#unsent = writeBody(
      transport,
      this.#unsent,
      { bytes: chunk, start: 0, end: chunk.length },
      this.#exchange.bodyLength === 'chunked',
    );
    this.#flush();
    if (transport.isFull) this.#exchange.pauseBody();
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
    if (head.status < 200 && head.status !== 101) {
      this.#inform(head);
      return;
    }
    this.#connection!.deadlineAt = Number.POSITIVE_INFINITY;
    if (head.status === 101) {
      this.#changeProtocol(head);
      return;
    }
    this.#answer = head;
  }

  #startAnswer(): void {
    if (this.#isAnswerStarted) return;
    this.#isAnswerStarted = true;
    this.#exchange.start(clientHead(this.#answer!, this.#options.answerHeaders ?? NO_HEADERS));
  }

  /** Passes on an interim response, after which the upstream has the whole time for its answer again. */
  #inform({ status, reason, headers }: ResponseHead): void {
    const { answerTimeoutMs } = this.#settings;
    this.#interims += 1;
    if (this.#interims > MAX_INTERIMS) {
      this.#fail(`it sent more than ${MAX_INTERIMS} interim responses (1xx)`);
      return;
    }
    if (answerTimeoutMs > 0) this.#connection!.deadlineAt = readClock.now() + answerTimeoutMs;
    if (!this.#exchange.inform(status, reason, clientHeaders(headers, NO_HEADERS))) this.#pauseAnswer();
  }

  onAnswerData(bytes: Buffer, start: number, end: number): void {
    this.#startAnswer();
    if (!this.#exchange.write(bytes, start, end)) this.#pauseAnswer();
  }

  #pauseAnswer(): void {
    this.#isAnswerPaused = true;
    this.#connection!.transport.pause();
  }

  onClientGone(): void {
    this.#finish({ kind: 'clientGone' });
  }

  onClientDrain(): void {
    if (!this.#isAnswerPaused) return;
    this.#isAnswerPaused = false;
    this.#connection?.transport.resume();
  }

  onAnswerPause(): void {
    if (this.#answer === null) return;
    this.#startAnswer();
    this.#exchange.flush();
    this.#reportLasting();
  }

  onAnswerEnd(trailers: RawHeaders): void {
    const { status, isPersistent } = this.#answer!;
    const connection = this.#connection!;
    this.onClientDrain(); // the connection may be reused: it must not stay paused
    this.#connection = null;
    // A response that precedes the end of its request leaves the connection in an unknown state.
    if (isPersistent && this.#isRequestSent) connection.giveBack();
    else connection.destroy();
    this.#startAnswer();
    this.#exchange.end(trailers);
    this.#finish({ kind: 'done', status });
  }

  onUpstreamFailed(reason: string, hasTimedOut: boolean): void {
    const wasUsed = this.#connection !== null && this.#connection.answers > 0;
    this.#connection = null;
    const isStale = wasUsed && readClock.now() - this.#sentAt < STALE_WITHIN_MS;
    if (this.#answer === null && isStale && this.#isRepeatable && !this.#wasRepeated) {
      this.#wasRepeated = true;
      this.#connect();
    } else this.#fail(reason, hasTimedOut);
  }

  /** Cuts a response that was started, so that the client does not take the part for the whole. */
  #fail(reason: string, hasTimedOut = false): void {
    if (this.#isAnswerStarted) {
      this.#exchange.flush();
      this.#exchange.abort();
    } else if (hasTimedOut)
      refuse(this.#exchange, new Failure('gatewayTimeout', 'The upstream server did not respond in time.'));
    else refuse(this.#exchange, new Failure('badGateway', `The upstream server failed to respond: ${reason}.`));
    this.#finish({ kind: 'failed', reason });
  }

  #refuseTooLarge(): void {
    const detail = `The request body is larger than the limit of ${this.#settings.maxBodyBytes} bytes.`;
    if (this.#answer === null) refuse(this.#exchange, new Failure('contentTooLarge', detail));
    else this.#exchange.abort();
    this.#finish({ kind: 'done', status: FAILURES.contentTooLarge.status });
  }

  /** Tunnels bytes both ways until both sides have closed. Fails when the client asked for no upgrade. */
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
    this.#tunnel = tunnel(exchange.detach(), upstream, () => this.#finish({ kind: 'done', status: 101 }));
    this.#reportLasting();
  }

  #reportLasting(): void {
    if (this.#isLasting || this.#isOver) return;
    this.#isLasting = true;
    this.#reader.onLasting?.(this);
  }

  cut(why: Failure): void {
    if (this.#isOver) return;
    if (this.#tunnel) this.#tunnel.destroy();
    else if (this.#answer === null) {
      refuse(this.#exchange, why);
      this.#finish({ kind: 'done', status: FAILURES[why.kind].status });
    } else {
      this.#exchange.abort();
      this.#finish({ kind: 'clientGone' });
    }
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
