import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { AnswerHead, BodySink, ClientExchange, RawHeaders, TunnelEnd } from './client-exchange.ts';
import { HeaderList } from './header-list.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

const NO_BODY: RawHeaders = [];

/**
 * An exchange on a connection that node's HTTP server has taken: a client may use one connection for all planes, and only
 * its first request decides where it goes. Upgrades need a connection of their own, which every client gives them.
 */
export class NodeExchange implements ClientExchange {
  readonly headers = new HeaderList();
  readonly upgrade = null;
  readonly bodyLength: number | 'chunked';
  readonly minorVersion: 0 | 1;
  onGone: (() => void) | null = null;
  onDrain: (() => void) | null = null;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;

  readonly isTrusted: boolean;

  constructor(req: IncomingMessage, res: ServerResponse, trustedProxies: TrustedProxies) {
    this.#req = req;
    this.#res = res;
    this.isTrusted = trustedProxies.has(this.remoteAddress);
    for (let i = 0; i < req.rawHeaders.length; i += 2) this.headers.add(req.rawHeaders[i]!, req.rawHeaders[i + 1]!);
    this.minorVersion = req.httpVersionMinor === 0 ? 0 : 1;
    this.bodyLength =
      req.headers['transfer-encoding'] === undefined ? Number(req.headers['content-length'] ?? 0) : 'chunked';
    res.on('drain', () => this.onDrain?.());
    res.on('close', () => {
      if (!res.writableFinished) this.onGone?.();
    });
  }

  get method(): string {
    return this.#req.method!;
  }

  get target(): string {
    return this.#req.url!;
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
    this.#req.on('error', () => {}); // told by onGone
  }

  pauseBody(): void {
    this.#req.pause();
  }

  resumeBody(): void {
    this.#req.resume();
  }

  /** Of interim answers, node sends only this one of whatever content. */
  inform(status: number): void {
    if (status === 100 && !this.#res.headersSent) this.#res.writeContinue();
  }

  start({ status, reason, headers, length }: AnswerHead): void {
    if (this.#res.headersSent) return;
    const framing = typeof length === 'number' ? ['Content-Length', String(length)] : NO_BODY;
    if (!this.#req.complete) this.#res.shouldKeepAlive = false;
    this.#res.writeHead(status, reason, [...headers, ...framing]);
  }

  write(chunk: Buffer): boolean {
    return this.#res.write(Buffer.from(chunk));
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
    this.start({ status, reason, headers, length: Buffer.byteLength(body) });
    this.#res.end(body);
  }

  abort(): void {
    this.#res.destroy();
  }

  detach(): TunnelEnd {
    throw new Error('only a connection of its own can leave HTTP');
  }
}
