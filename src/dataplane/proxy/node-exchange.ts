import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import { Failure } from '../../core/errors.ts';
import { markForwarded } from '../../http/floods/pipeline-gate.ts';
import { PROBLEM_JSON, renderProblem } from '../../http/problem.ts';
import type {
  AnswerHead,
  BodySink,
  ClientExchange,
  ExchangeHandler,
  ExchangeWatcher,
  RawHeaders,
  TunnelEnd,
} from '../wire/client-exchange.ts';
import type { HeaderList } from '../wire/header-list.ts';
import { BadHead, parseRequestHead, type RequestHead } from '../wire/message-head.ts';
import type { TrustedProxies } from '../wire/trusted-proxies.ts';
import { headerLines } from '../wire/write-body.ts';

const NO_BODY: RawHeaders = [];

/** Serves a proxied request on a connection of node's HTTP server. Its head is parsed again by the proxy's strict rules. */
export function answerOnSharedConnection(
  req: IncomingMessage,
  res: ServerResponse,
  trustedProxies: TrustedProxies,
  handler: ExchangeHandler,
): void {
  const head = `${req.method} ${req.url} HTTP/${req.httpVersion}\r\n${headerLines(req.rawHeaders)}\r\n`;
  try {
    handler(new NodeExchange(req, res, parseRequestHead(head), trustedProxies));
  } catch (error) {
    if (!(error instanceof BadHead)) throw error;
    const { status, problem } = renderProblem(new Failure('badRequest', 'The request is not valid HTTP.'));
    res.writeHead(status, { 'Content-Type': PROBLEM_JSON, Connection: 'close' }).end(JSON.stringify(problem));
  }
}

/**
 * An exchange on a connection of node's HTTP server: a client may use one connection for all planes, and its first request decides which
 * server reads it. Upgrades are never answered here (Front.takeBack).
 */
class NodeExchange implements ClientExchange {
  readonly method: string;
  readonly target: string;
  readonly minorVersion: 0 | 1;
  readonly headers: HeaderList;
  readonly upgrade = null;
  readonly bodyLength: number | 'chunked';
  onGone: (() => void) | null = null;
  watcher: ExchangeWatcher | null = null;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;

  readonly isTrusted: boolean;

  constructor(req: IncomingMessage, res: ServerResponse, head: RequestHead, trustedProxies: TrustedProxies) {
    this.#req = req;
    this.#res = res;
    this.method = head.method;
    this.target = head.target;
    this.minorVersion = head.minorVersion;
    this.headers = head.headers;
    this.bodyLength = head.bodyLength;
    this.isTrusted = trustedProxies.has(this.remoteAddress);
    res.on('drain', () => this.watcher?.onClientDrain());
    res.on('close', () => {
      if (res.writableFinished) return;
      this.onGone?.();
      this.watcher?.onClientGone();
    });
  }

  get connection(): object {
    return this.#req.socket;
  }

  get remoteAddress(): string {
    return (this.#req.socket.remoteAddress ?? '').replace(/^::ffff:/i, '');
  }

  get isSecure(): boolean {
    return this.#req.socket instanceof TLSSocket;
  }

  get isOver(): boolean {
    return this.#res.destroyed || this.#res.writableEnded;
  }

  readBody(sink: BodySink): void {
    this.#req.on('data', (chunk: Buffer) => sink.onBodyData(chunk));
    this.#req.on('end', () => sink.onBodyEnd(this.#req.rawTrailers));
    this.#req.on('error', () => {}); // reported by onGone
  }

  pauseBody(): void {
    this.#req.pause();
  }

  resumeBody(): void {
    this.#req.resume();
  }

  /** Relays only 100 Continue: node cannot send arbitrary interim responses. */
  inform(status: number): boolean {
    if (status === 100 && !this.#res.headersSent) this.#res.writeContinue();
    return !this.#res.writableNeedDrain;
  }

  start(head: AnswerHead): void {
    markForwarded(this.#res);
    this.#start(head);
  }

  #start({ status, reason, headers, length }: AnswerHead): void {
    if (this.#res.headersSent) return;
    const framing = typeof length === 'number' ? ['Content-Length', String(length)] : NO_BODY;
    if (!this.#req.complete) this.#res.shouldKeepAlive = false;
    this.#res.writeHead(status, reason, [...headers, ...framing]);
  }

  write(bytes: Buffer, start: number, end: number): boolean {
    return this.#res.write(Buffer.from(bytes.subarray(start, end)));
  }

  flush(): void {
    this.#res.flushHeaders();
  }

  end(trailers: RawHeaders): void {
    if (trailers.length > 0) {
      this.#res.addTrailers(
        trailers.flatMap((name, i) => (i % 2 === 0 ? [[name, trailers[i + 1]!]] : [])) as [string, string][],
      );
    }
    this.#res.end();
  }

  answer(status: number, reason: string, headers: RawHeaders, body: string): void {
    if (this.#res.headersSent || this.#res.destroyed) return;
    this.#start({ status, reason, headers, length: Buffer.byteLength(body) });
    this.#res.end(body);
  }

  abort(): void {
    this.#res.destroy();
  }

  detach(): TunnelEnd {
    throw new Error('upgrades are not supported on a shared connection');
  }
}
