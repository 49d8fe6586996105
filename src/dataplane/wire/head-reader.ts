import type { ConnectionOwner, WireHandler } from './connection-owner.ts';
import { BadHead, parseRequestHead, type RequestHead } from './message-head.ts';
import { RepeatedBytes } from './repeated-bytes.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 13;
const LF = 10;

/** A head of more bytes than are read. */
export class HeadTooLarge extends BadHead {}

/** A request whose head is complete: from `start`, with its body at `end`. */
interface ReadRequest {
  readonly head: RequestHead;
  /** Null: there is none here. */
  readonly handler: WireHandler | null;
  readonly start: number;
  readonly end: number;
}

/** Finds the requests of one connection and their handlers. A client repeats itself, so what it sent last costs little to read again. */
export class HeadReader {
  readonly #owner: Pick<ConnectionOwner, 'dispatch' | 'maxHeadBytes'>;
  /** The latest parsed head, whose fields need no parsing when they are repeated. */
  #previous: RequestHead | null = null;
  /** A head that came twice in a row, which is then compared as bytes instead of parsed. */
  #repeated: (ReadRequest & { readonly bytes: RepeatedBytes }) | null = null;

  constructor(owner: Pick<ConnectionOwner, 'dispatch' | 'maxHeadBytes'>) {
    this.#owner = owner;
  }

  /** Returns the first request of `bytes`; null until its head is complete. Throws `BadHead`, `HeadTooLarge`. */
  read(bytes: Buffer): ReadRequest | null {
    const repeated = this.#repeated;
    if (repeated?.bytes.isAt(bytes, 0)) return repeated;
    let start = 0;
    while (bytes[start] === CR && bytes[start + 1] === LF) start += 2; // some clients send an empty line after a body
    const last = bytes.indexOf(HEAD_END, start);
    if (last === -1 || last - start > this.#owner.maxHeadBytes) {
      if (bytes.length - start > this.#owner.maxHeadBytes) throw new HeadTooLarge('the head is too large');
      if (hasBareLineFeed(bytes, start)) throw new BadHead('a line does not end with CR LF');
      return null;
    }
    const end = last + 4;
    const head = parseRequestHead(bytes.toString('latin1', start, end), this.#previous?.block);
    const handler = this.#owner.dispatch(head);
    if (handler !== null) this.#remember(head, handler, bytes.subarray(start, end));
    return { head, handler, start, end };
  }

  #remember(head: RequestHead, handler: WireHandler, bytes: Buffer): void {
    if (isSame(head, this.#previous)) {
      this.#repeated = { head, handler, start: 0, end: bytes.length, bytes: new RepeatedBytes(bytes) };
    }
    this.#previous = head;
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

function hasBareLineFeed(bytes: Buffer, at: number): boolean {
  for (let lf = bytes.indexOf(LF, at); lf !== -1; lf = bytes.indexOf(LF, lf + 1)) {
    if (lf === at || bytes[lf - 1] !== CR) return true;
  }
  return false;
}
