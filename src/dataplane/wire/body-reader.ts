import type { BodyLength, RawHeaders } from './client-exchange.ts';
import { BadHead, parseFields } from './message-head.ts';

const CR = 13;
const LF = 10;
/** A chunk's size in hexadecimal. Extensions are dropped: forwarded bodies are reframed. */
const SIZE_LINE = /^([0-9A-Fa-f]{1,13})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\r\n$/;
const MAX_SIZE_LINE = 512;
const MAX_TRAILER_BYTES = 16_384;
const NO_TRAILERS: RawHeaders = [];

/** Trailers that would change how a message is read or routed if a recipient merged them with the headers. */
const FORBIDDEN_TRAILERS = new Set([
  ...['transfer-encoding', 'content-length', 'host', 'connection', 'keep-alive', 'upgrade', 'te', 'trailer', 'expect'],
  ...['authorization', 'proxy-authorization', 'proxy-connection', 'cookie', 'set-cookie', 'forwarded'],
  ...['content-encoding', 'content-type', 'content-range', 'cache-control', 'location'],
]);

/** Finds the end of one message's body, however its reads are split, and removes the framing. */
export class BodyReader {
  isDone = false;
  trailers: RawHeaders = NO_TRAILERS;
  readonly #isChunked: boolean;
  /** Bytes until the end of the body, or of the chunk. */
  #left: number;
  #state: 'size' | 'data' | 'dataEnd' | 'trailer';
  /** The start of an incomplete line. */
  #line = '';

  constructor(length: BodyLength) {
    this.#isChunked = length === 'chunked';
    this.#state = this.#isChunked ? 'size' : 'data';
    this.#left = typeof length === 'number' ? length : length === 'untilClose' ? Number.POSITIVE_INFINITY : 0;
    if (length === 0) this.isDone = true;
  }

  /** Passes the body's bytes to `onData`; returns where the message ended, or the chunk's length. Throws `BadHead`. */
  read(chunk: Buffer, onData: (data: Buffer) => void): number {
    let at = 0;
    while (at < chunk.length && !this.isDone) {
      at = this.#state === 'data' ? this.#readData(chunk, at, onData) : this.#readLine(chunk, at);
    }
    return at;
  }

  #readData(chunk: Buffer, at: number, onData: (data: Buffer) => void): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) {
      if (this.#isChunked) this.#state = 'dataEnd';
      else this.isDone = true;
    }
    onData(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    return end;
  }

  #readLine(chunk: Buffer, at: number): number {
    const lineEnd = chunk.indexOf(LF, at);
    const end = lineEnd === -1 ? chunk.length : lineEnd + 1;
    this.#line += chunk.toString('latin1', at, end);
    if (this.#line.length > (this.#state === 'trailer' ? MAX_TRAILER_BYTES : MAX_SIZE_LINE)) {
      throw new BadHead('a line of the chunked body is too long');
    }
    if (lineEnd !== -1) this.#endLine();
    return end;
  }

  #endLine(): void {
    if (this.#state === 'trailer') {
      this.#endTrailerLine();
      return;
    }
    const line = this.#line;
    this.#line = '';
    if (this.#state === 'dataEnd') {
      if (line !== '\r\n') throw new BadHead('a chunk is longer than its size');
      this.#state = 'size';
      return;
    }
    const size = SIZE_LINE.exec(line);
    if (!size) throw new BadHead('the size of a chunk is not valid');
    this.#left = Number.parseInt(size[1]!, 16);
    this.#state = this.#left === 0 ? 'trailer' : 'data';
  }

  /** Collects trailer lines until the empty one, then parses them together. */
  #endTrailerLine(): void {
    const { length } = this.#line;
    const isBare = length < 2 || this.#line.charCodeAt(length - 2) !== CR;
    if (isBare) throw new BadHead('a line of the chunked body does not end with CR LF');
    if (this.#line !== '\r\n' && !this.#line.endsWith('\r\n\r\n')) return;
    const fields = parseFields(this.#line, 0);
    const kept = fields.names.flatMap((name, i) =>
      FORBIDDEN_TRAILERS.has(fields.lowerNames[i]!) ? [] : [name, fields.values[i]!],
    );
    if (kept.length > 0) this.trailers = kept;
    this.isDone = true;
  }
}
