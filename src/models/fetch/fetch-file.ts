import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, messageOf } from '../../core/errors.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import type { Bandwidth } from './bandwidth.ts';
import { httpGet, type Reach } from './http-get.ts';

/** Where a file of a model is read. */
export interface FileOrigin {
  url: URL;
  /** The model, as sentences for users name it. */
  model: string;
  token: string | null;
  reach: Reach | null;
}

export interface FetchDeps {
  bandwidth: Bandwidth;
  /** The pause before the second try, which doubles up to `MAX_PAUSE_MS`. */
  retryMs: number;
}

/** Called with how much of the file is there, and with what has come since the last call. */
export type OnSize = (size: number, received: number) => void;

/** Tries in a row that bring no byte. */
const MAX_TRIES = 5;
const MAX_PAUSE_MS = 10_000;
/** Written at once; a chunk of a connection has 64 KiB. */
const WRITE_BYTES = 2 ** 20;

/** The origin answered in a way that another try may mend. */
class Interrupted extends Error {}

/**
 * Fetches a file to `path`, where an earlier try may have left its beginning, and returns once its digest is right and it is on
 * the disk. A connection that breaks is opened again where it ended. Throws a sentence that names the model; what is there then stays for
 * the next call, unless it is wrong.
 */
export async function fetchFile(
  { bandwidth, retryMs }: FetchDeps,
  origin: FileOrigin,
  file: PinnedFile,
  { path, onSize, signal }: { path: string; onSize: OnSize; signal: AbortSignal },
): Promise<void> {
  let wasResumed = false;
  for (let tries = 1; ; ) {
    const partial = await PartialFile.open(path, file);
    const before = partial.size;
    onSize(before, 0);
    wasResumed ||= before > 0;
    let cause: unknown;
    try {
      if (partial.size < file.size || file.size === 0)
        await receive(partial, { bandwidth, origin, file, onSize, signal });
      if (await partial.finish()) return;
      await discard(path);
      if (!wasResumed)
        throw new Failure('badGateway', `${nameOf(origin, file)} differs from its digest ${file.digest}`);
      cause = new Interrupted('what was fetched before differed from its digest');
      wasResumed = false;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      if (isDiskFull(error)) {
        await discard(path); // a full disk stops more than this
        const text = `the disk of this machine is full: ${nameOf(origin, file)} could not be stored`;
        throw new Failure('unavailable', text, { cause: error });
      }
      cause = error;
    } finally {
      await partial.close();
    }
    tries = partial.size > before ? 1 : tries + 1;
    if (tries > MAX_TRIES) {
      const text = `${nameOf(origin, file)} could not be fetched from ${origin.url.host}: ${messageOf(cause)}`;
      throw new Failure('unavailable', text, { cause });
    }
    await sleep(Math.min(MAX_PAUSE_MS, retryMs * 2 ** (tries - 1)), undefined, { signal });
  }
}

/** Throws unless the origin gives the file to whoever has this token; reads one byte of it. */
export async function proveAccess(origin: FileOrigin, file: PinnedFile, signal: AbortSignal): Promise<void> {
  const { url, token, reach } = origin;
  const headers: Record<string, string> = file.size > 0 ? { range: 'bytes=0-0' } : {};
  try {
    const { response, linked } = await httpGet(url, { headers, token, reach, signal });
    response.destroy();
    checkStatus(response, origin, file);
    checkDigest(linked.digest, origin, file);
  } catch (error) {
    if (error instanceof Failure || signal.aborted) throw error;
    const text = `whether the model '${origin.model}' may be used could not be asked of ${url.host}: ${messageOf(error)}`;
    throw new Failure('unavailable', text, { cause: error });
  }
}

interface Receiving {
  bandwidth: Bandwidth;
  origin: FileOrigin;
  file: PinnedFile;
  onSize: OnSize;
  signal: AbortSignal;
}

async function receive(partial: PartialFile, { bandwidth, origin, file, onSize, signal }: Receiving): Promise<void> {
  const { url, token, reach } = origin;
  const headers = partial.size === 0 ? {} : partial.rangeHeaders();
  const { response, linked } = await httpGet(url, { headers, token, reach, signal });
  try {
    if (response.statusCode === 416) {
      await partial.restart();
      throw new Interrupted('the origin refused to go on where it ended');
    }
    checkStatus(response, origin, file);
    checkDigest(linked.digest, origin, file);
    if (response.statusCode === 200 && partial.size > 0) await partial.restart();
    checkSize(response, partial.size, origin, file);
    await partial.noteTag(response.headers.etag);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (partial.size + chunk.length > file.size) {
        await partial.restart();
        throw wrongSize(response, origin, file, `more than ${file.size} bytes`);
      }
      await partial.write(chunk);
      onSize(partial.size, chunk.length);
      await bandwidth.take(chunk.length, signal);
    }
    if (partial.size < file.size) throw new Interrupted(`it ended after ${partial.size} of ${file.size} bytes`);
  } finally {
    response.destroy();
    await partial.flush();
  }
}

/** Its beginning, its hash so far, and what the origin called it. */
class PartialFile {
  size = 0;
  readonly #path: string;
  readonly #file: PinnedFile;
  readonly #handle: FileHandle;
  #hash: Hash;
  #tag: string | null = null;
  #chunks: Buffer[] = [];
  #waiting = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, file: PinnedFile, handle: FileHandle) {
    this.#path = path;
    this.#file = file;
    this.#handle = handle;
    this.#hash = startHash(file);
  }

  static async open(path: string, file: PinnedFile): Promise<PartialFile> {
    const partial = new PartialFile(path, file, await open(path, 'a', 0o600));
    try {
      const { size } = await stat(path);
      if (size > file.size) await partial.restart();
      else if (size > 0) await partial.#readAgain();
    } catch (error) {
      await partial.close();
      throw error;
    }
    return partial;
  }

  async #readAgain(): Promise<void> {
    for await (const chunk of createReadStream(this.#path, { highWaterMark: WRITE_BYTES })) {
      this.#hash.update(chunk);
      this.size += chunk.length;
    }
    this.#tag = await readFile(tagPath(this.#path), 'utf8').catch(() => null);
  }

  /** The part is for the same file as before, or the whole file comes. */
  rangeHeaders(): Record<string, string> {
    return { range: `bytes=${this.size}-`, ...(this.#tag !== null && { 'if-range': this.#tag }) };
  }

  async noteTag(tag: string | undefined): Promise<void> {
    const strong = tag !== undefined && !tag.startsWith('W/') ? tag : null;
    if (strong === this.#tag) return;
    this.#tag = strong;
    if (strong === null) await rm(tagPath(this.#path), { force: true });
    else await writeFile(tagPath(this.#path), strong);
  }

  async write(chunk: Buffer): Promise<void> {
    this.#hash.update(chunk);
    this.#chunks.push(chunk);
    this.size += chunk.length;
    this.#waiting += chunk.length;
    if (this.#waiting < WRITE_BYTES) return;
    await this.#writing;
    this.#begin();
  }

  async flush(): Promise<void> {
    await this.#writing;
    this.#begin();
    await this.#writing;
  }

  /** Writes what has come, while more comes. */
  #begin(): void {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#waiting = 0;
    this.#writing = writeAll(this.#handle, chunks);
    this.#writing.catch(() => {}); // thrown by the next write or flush
  }

  async restart(): Promise<void> {
    this.#chunks = [];
    this.#waiting = 0;
    await this.#writing;
    this.size = 0;
    this.#hash = startHash(this.#file);
    await this.#handle.truncate(0);
  }

  /** True when it is whole, right and on the disk. */
  async finish(): Promise<boolean> {
    await this.flush();
    if (this.#hash.digest('hex') !== hexOf(this.#file)) return false;
    await this.#handle.sync();
    await rm(tagPath(this.#path), { force: true });
    return true;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

async function writeAll(handle: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  let left = [...chunks];
  while (left.length > 0) {
    const { bytesWritten } = await handle.writev(left);
    left = after(left, bytesWritten);
  }
}

/** Returns the chunks without their first `bytes`, which a short write has stored. */
function after(chunks: readonly Buffer[], bytes: number): Buffer[] {
  let left = bytes;
  return chunks.flatMap((chunk) => {
    const skipped = Math.min(left, chunk.length);
    left -= skipped;
    return skipped === chunk.length ? [] : [chunk.subarray(skipped)];
  });
}

export function tagPath(path: string): string {
  return `${path}.tag`;
}

async function discard(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(tagPath(path), { force: true });
}

/** Git's digest is over a head and the content. */
function startHash({ digest, size }: PinnedFile): Hash {
  return digest.startsWith('git:') ? createHash('sha1').update(`blob ${size}\0`) : createHash('sha256');
}

/** Returns the digest in hex, as a hub names the file's content. */
export function hexOf({ digest }: Pick<PinnedFile, 'digest'>): string {
  return digest.slice(digest.indexOf(':') + 1);
}

function nameOf({ model }: FileOrigin, { path }: PinnedFile): string {
  return `the file '${path}' of the model '${model}'`;
}

function checkStatus({ statusCode: status = 0 }: IncomingMessage, origin: FileOrigin, file: PinnedFile): void {
  if (status === 200 || status === 206) return;
  const { host } = origin.url;
  if (status === 401 || status === 403) {
    const why =
      origin.token === null
        ? 'it is gated, private or gone: name a secret with a token that may read it'
        : 'the token was revoked, or may not read it';
    throw new Failure('forbidden', `${host} refuses the model '${origin.model}' (status ${status}): ${why}`);
  }
  if (status === 404 || status === 410) {
    throw new Failure('notFound', `${host} has no ${nameOf(origin, file).replace(/^the /, '')} any more`);
  }
  if (status === 408 || status === 429 || status >= 500) throw new Interrupted(`it answered with status ${status}`);
  throw new Failure('badGateway', `${host} answered with status ${status} for ${nameOf(origin, file)}`);
}

/** A hub tells the digest before it sends anything. */
function checkDigest(given: string | undefined, origin: FileOrigin, file: PinnedFile): void {
  if (given === undefined || given === hexOf(file)) return;
  const text = `${nameOf(origin, file)} has changed at ${origin.url.host}: its digest is ${given}, and the release pins ${file.digest}`;
  throw new Failure('badGateway', text);
}

function checkSize(response: IncomingMessage, from: number, origin: FileOrigin, file: PinnedFile): void {
  if (response.statusCode === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers['content-range'] ?? '') ?? [];
    if (Number(start) !== from) throw new Interrupted('the origin sent another part than was asked for');
    if (total !== '*' && Number(total) !== file.size) throw wrongSize(response, origin, file, `${total} bytes`);
    return;
  }
  const length = response.headers['content-length'];
  if (length !== undefined && Number(length) !== file.size) throw wrongSize(response, origin, file, `${length} bytes`);
  if (length === undefined && isPage(response, file)) throw wrongSize(response, origin, file, 'some size');
}

/** A proxy or a sign-in page answered instead of the origin. */
function isPage({ headers }: IncomingMessage, { path }: PinnedFile): boolean {
  return /^text\/html\b/i.test(headers['content-type'] ?? '') && !/\.html?$/i.test(path);
}

function wrongSize(response: IncomingMessage, origin: FileOrigin, file: PinnedFile, found: string): Failure {
  const what = isPage(response, file) ? `a web page of ${found}` : found;
  const text = `${origin.url.host} sent ${what} for ${nameOf(origin, file)}, which has ${file.size} bytes`;
  return new Failure('badGateway', text);
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as { code?: string } | null)?.code ?? '');
}
