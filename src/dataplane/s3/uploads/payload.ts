import { createHash, type Hash } from 'node:crypto';
import { S3Error } from '../s3-error.ts';
import { headerOf, type S3Request } from '../s3-request.ts';
import { isSame, type Signing, sha256, sign } from '../signature.ts';
import { readBlocks } from './body-blocks.ts';
import { type Checksum, Crc32, Crc32c, Crc64Nvme } from './crc.ts';

/** The largest file of one request: as S3's. Larger ones come in parts. */
const MAX_PUT_BYTES = 5 * 2 ** 30;
/** Small pieces are gathered up to this size: each write is a trip to another thread. */
const WRITE_BYTES = 2 ** 19;
const MAX_LINE_BYTES = 4_096;
const MAX_TRAILERS = 20;
const EMPTY_SHA256 = sha256('');

/** The body of an upload. It is valid only if `bytes` ends without an error. */
export interface Payload {
  readonly length: number;
  /**
   * Yields the content as it arrives, each piece to be used before the next is taken. Throws if it is not what its length, hashes
   * and signatures say.
   */
  bytes(): AsyncGenerator<Buffer>;
  /** Headers of the response that repeat the checksum of the content, after `bytes` has ended. */
  checksumHeaders(): Record<string, string>;
}

const HASHES: Record<string, () => Checksum> = {
  'x-amz-checksum-crc32': () => new Crc32(),
  'x-amz-checksum-crc32c': () => new Crc32c(),
  'x-amz-checksum-crc64nvme': () => new Crc64Nvme(),
  'x-amz-checksum-sha1': () => hashOf('sha1'),
  'x-amz-checksum-sha256': () => hashOf('sha256'),
};

/** Headers and trailers with a checksum; others of this beginning say how they are meant. */
const CHECKSUM = /^x-amz-checksum-(?!algorithm$|mode$|type$)/;

function hashOf(name: string): Checksum {
  const hash = createHash(name);
  return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest('base64') };
}

/** Reads how the body comes. `signing` null: the request has no signature, but a key over a safe connection. */
export function readPayload(request: S3Request, signing: Signing | null): Payload {
  const mode = signing?.claim.payload ?? headerOf(request, 'x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD';
  const isChunked = mode.startsWith('STREAMING-');
  const length = announcedLength(request, isChunked);
  const isSigned = mode.startsWith('STREAMING-AWS4-HMAC-SHA256-PAYLOAD');
  if (isChunked && !isSigned && mode !== 'STREAMING-UNSIGNED-PAYLOAD-TRAILER')
    throw new S3Error('NotImplemented', `Bodies of the form ${mode} are not supported.`);
  if (isSigned && signing === null) throw new S3Error('InvalidRequest', 'A signed body needs a signed request.');
  const checks = createChecks(request, isChunked ? null : mode);
  const body = readBlocks(request.req);
  const content = isChunked ? new ChunkedBody(body, isSigned ? signing : null, checks).bytes() : body;
  const whole = checked(content, length, checks);
  return {
    length,
    bytes: () => (isChunked ? gathered(whole, length) : whole),
    checksumHeaders: () => checks.headers(),
  };
}

/** The whole of a small body. Throws `MalformedXML` over the limit. */
export async function readSmallBody(payload: Payload, limitBytes: number): Promise<string> {
  if (payload.length > limitBytes)
    throw new S3Error('MalformedXML', `The body is larger than the ${limitBytes} bytes that this request may have.`);
  const chunks: Buffer[] = [];
  for await (const chunk of payload.bytes()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function announcedLength(request: S3Request, isChunked: boolean): number {
  const text = headerOf(request, isChunked ? 'x-amz-decoded-content-length' : 'content-length');
  if (text === undefined || !/^\d{1,16}$/.test(text))
    throw new S3Error(
      'MissingContentLength',
      `The request must say how long its content is, in ${isChunked ? 'x-amz-decoded-content-length' : 'Content-Length'}.`,
    );
  const length = Number(text);
  if (length > MAX_PUT_BYTES)
    throw new S3Error('EntityTooLarge', 'One request may send 5 GiB: upload larger files in parts.');
  return length;
}

async function* checked(content: AsyncIterable<Buffer>, length: number, checks: Checks): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > length) break;
    checks.update(chunk);
    yield chunk;
  }
  if (size !== length)
    throw new S3Error('IncompleteBody', `The content is not as long as the request says: ${length} bytes.`);
  checks.verify();
}

/** Joins small pieces until they are worth a write. What it yields is used again when the next is taken. */
async function* gathered(content: AsyncIterable<Buffer>, length: number): AsyncGenerator<Buffer> {
  let joined: Buffer | null = null;
  let size = 0;
  for await (const piece of content) {
    if (size + piece.length > WRITE_BYTES) {
      if (size > 0) yield joined!.subarray(0, size);
      size = 0;
    }
    if (piece.length >= WRITE_BYTES / 2) yield piece;
    else {
      joined ??= Buffer.allocUnsafeSlow(Math.min(WRITE_BYTES, length));
      size += piece.copy(joined, size);
    }
  }
  if (size > 0) yield joined!.subarray(0, size);
}

/** Values that the content is compared with at its end. */
interface Checks {
  update(chunk: Buffer): void;
  /** A checksum that came after the content. */
  addTrailer(name: string, value: string): void;
  verify(): void;
  headers(): Record<string, string>;
}

function createChecks(request: S3Request, mode: string | null): Checks {
  const md5 = headerOf(request, 'content-md5');
  if (md5 !== undefined && Buffer.from(md5, 'base64').length !== 16)
    throw new S3Error('InvalidDigest', 'Content-MD5 is not an MD5 digest in base 64.');
  const md5Hash: Hash | null = md5 === undefined ? null : createHash('md5');
  const isHashed = mode !== null && mode !== 'UNSIGNED-PAYLOAD';
  if (isHashed && !/^[0-9a-f]{64}$/.test(mode))
    throw new S3Error(
      'InvalidArgument',
      'x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-… or a SHA-256 in hex.',
    );
  const shaHash = isHashed ? createHash('sha256') : null;
  const trailers = (headerOf(request, 'x-amz-trailer') ?? '').toLowerCase().split(',');
  const given = [...Object.keys(request.req.headers), ...trailers.map((name) => name.trim())];
  const names = [...new Set(given.filter((name) => CHECKSUM.test(name)))];
  const unknown = names.find((name) => !Object.hasOwn(HASHES, name));
  if (unknown !== undefined) throw new S3Error('NotImplemented', `${unknown} is not supported.`);
  const expected = new Map(names.map((name) => [name, headerOf(request, name)]));
  const sums = names.map((name) => [name, HASHES[name]!()] as const);
  const results: Record<string, string> = {};
  return {
    update: (chunk) => {
      md5Hash?.update(chunk);
      shaHash?.update(chunk);
      for (const [, sum] of sums) sum.update(chunk);
    },
    addTrailer: (name, value) => {
      if (names.includes(name)) expected.set(name, value);
    },
    verify: () => {
      if (md5Hash && md5Hash.digest('base64') !== md5)
        throw new S3Error('BadDigest', 'The content is not the one that Content-MD5 names.');
      if (shaHash && shaHash.digest('hex') !== mode)
        throw new S3Error('XAmzContentSHA256Mismatch', 'The content is not the one that was signed.');
      for (const [name, sum] of sums) {
        const value = sum.digest();
        if (expected.get(name) !== value)
          throw new S3Error('BadDigest', `The content is not the one that ${name} names: it has ${value}.`);
        results[name] = value;
      }
    },
    headers: () => results,
  };
}

/** Takes the framing of `aws-chunked` off, and checks the signature of each chunk before the next begins. */
class ChunkedBody {
  readonly #source: AsyncGenerator<Buffer>;
  readonly #signing: Signing | null;
  readonly #checks: Checks;
  #rest: Buffer = Buffer.alloc(0);
  #before: string;

  constructor(source: AsyncGenerator<Buffer>, signing: Signing | null, checks: Checks) {
    this.#source = source;
    this.#signing = signing;
    this.#checks = checks;
    this.#before = signing?.claim.signature ?? '';
  }

  async *bytes(): AsyncGenerator<Buffer> {
    for (;;) {
      const line = await this.#line();
      const [, hex, signature] = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line) ?? [];
      if (hex === undefined) throw malformed();
      let left = Number.parseInt(hex, 16);
      const isLast = left === 0;
      const hash = this.#signing ? createHash('sha256') : null;
      while (left > 0) {
        if (this.#rest.length === 0 && !(await this.#more())) throw cutOff();
        const piece = this.#rest.subarray(0, left);
        this.#rest = this.#rest.subarray(piece.length);
        left -= piece.length;
        hash?.update(piece);
        yield piece;
      }
      if (hash) this.#checkChunk(hash, signature);
      if (isLast) return await this.#trailers();
      if ((await this.#line()) !== '') throw malformed();
    }
  }

  #checkChunk(hash: Hash, signature: string | undefined): void {
    const { claim, key } = this.#signing!;
    const head = ['AWS4-HMAC-SHA256-PAYLOAD', claim.date, claim.scope, this.#before, EMPTY_SHA256];
    this.#expect(sign(key, [...head, hash.digest('hex')].join('\n')), signature);
  }

  /** Some clients leave out the empty line at the end. */
  async #trailers(): Promise<void> {
    let text = '';
    for (let count = 0; count <= MAX_TRAILERS; count++) {
      const line = await this.#line(true);
      if (line === '') break;
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
      if (name === 'x-amz-trailer-signature') {
        if (this.#signing) this.#checkTrailers(text, value);
        text = '';
      } else {
        text += `${name}:${value}\n`;
        this.#checks.addTrailer(name, value);
      }
    }
    if (text !== '' && this.#signing)
      throw new S3Error('SignatureDoesNotMatch', 'The trailers of the body are not signed.');
    while (await this.#more()); // what node has not ended yet
  }

  #checkTrailers(text: string, signature: string): void {
    const { claim, key } = this.#signing!;
    const lines = ['AWS4-HMAC-SHA256-TRAILER', claim.date, claim.scope, this.#before, sha256(text)];
    this.#expect(sign(key, lines.join('\n')), signature);
  }

  #expect(signature: string, given: string | undefined): void {
    if (given === undefined || !isSame(signature, given))
      throw new S3Error('SignatureDoesNotMatch', 'A chunk of the body is not signed as its secret would sign it.');
    this.#before = signature;
  }

  async #line(mayEnd = false): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf('\r\n');
      if (end >= 0) {
        const line = this.#rest.toString('latin1', 0, end);
        this.#rest = this.#rest.subarray(end + 2);
        return line;
      }
      if (this.#rest.length > MAX_LINE_BYTES) throw malformed();
      const before = Buffer.from(this.#rest);
      this.#rest = Buffer.alloc(0);
      const isMore = await this.#more();
      this.#rest = Buffer.concat([before, this.#rest]);
      if (isMore) continue;
      if (mayEnd && this.#rest.length === 0) return '';
      throw cutOff();
    }
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done) return false;
    this.#rest = value;
    return true;
  }
}

function malformed(): S3Error {
  return new S3Error('InvalidRequest', 'The body is not a valid aws-chunked body.');
}

function cutOff(): S3Error {
  return new S3Error('IncompleteBody', 'The body ends in the middle of a chunk.');
}
