import { type Sent, sendBytes } from '../../core/flow/send-bytes.ts';
import { taken } from '../../core/flow/taken.ts';
import type { CallResponse } from '../../http/call-messages.ts';
import { drainBody, hasRest } from '../read-body.ts';

/**
 * Files of other people are shown under the address of the console: no script of theirs may run there, and no page of theirs may be
 * taken for one of Podyard's.
 */
const SAFE_HEADERS = [
  'content-security-policy',
  "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'",
  ...['x-content-type-options', 'nosniff', 'cache-control', 'no-store'],
];

/** The response to a request of S3, with the headers that all of them have. */
export class S3Response {
  readonly requestId: string;
  readonly #res: CallResponse;
  #isXml = false;

  constructor(res: CallResponse, requestId: string) {
    this.#res = res;
    this.requestId = requestId;
  }

  get headersSent(): boolean {
    return this.#res.headersSent;
  }

  /** True while an XML document has begun and not ended: what fails can be said in it. */
  get isXmlOpen(): boolean {
    return this.#isXml && this.headersSent && !this.#res.writableEnded;
  }

  /** True once it is complete, or the connection is gone. */
  get isOver(): boolean {
    return this.#res.destroyed || this.#res.writableEnded;
  }

  /** Headers that are undefined are left out. */
  writeHead(status: number, headers: Readonly<Record<string, string | number | undefined>>): void {
    const lines: string[] = ['x-amz-request-id', this.requestId];
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) lines.push(name, String(value));
    for (let i = 0; i < SAFE_HEADERS.length; i += 2)
      if (headers[SAFE_HEADERS[i]!] === undefined) lines.push(SAFE_HEADERS[i]!, SAFE_HEADERS[i + 1]!);
    this.#isXml = headers['content-type'] === 'application/xml';
    this.#res.writeHead(status, lines);
  }

  /** Sends a part of a file as `sendBytes` does. */
  send(part: Sent): Promise<void> {
    return sendBytes(this.#res, part);
  }

  /** False: wait for `taken`. */
  write(chunk: string | Buffer): boolean {
    return this.#res.write(chunk);
  }

  /** Ends it once the rest of a refused request has arrived: a connection that is closed with unread data is reset. */
  end(text = ''): void {
    const res = this.#res;
    if (!hasRest(res.req)) return void res.end(text);
    if (text !== '') res.write(text);
    drainBody(res.req, () => res.end());
  }

  destroy(): void {
    this.#res.destroy();
  }

  /** Resolves once the client has taken what was written, or it is over. */
  taken(): Promise<void> {
    return taken(this.#res);
  }
}
