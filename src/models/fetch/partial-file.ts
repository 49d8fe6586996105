import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';

/** Written at once. */
const WRITE_BYTES = 2 ** 19;
const MIN_WRITE_BYTES = 2 ** 16;
/** All files that are fetched at once collect so much: with many of them, each writes smaller pieces. */
const COLLECTED_BYTES = 2 ** 22;
/** So much is written before the disk is asked to keep up, so that the end of a large file need not wait for all of it. */
const SYNC_BYTES = 64 * 2 ** 20;

/** The beginning of a file, its hash so far, and what the origin called it. */
export class PartialFile {
  static #open = 0;
  size = 0;
  /** Why something that came could not be written; null: nothing failed. What is there then is of no use. */
  failure: unknown = null;
  readonly #path: string;
  readonly #file: PinnedFile;
  readonly #handle: FileHandle;
  #hash: Hash;
  #tag: string | null = null;
  #chunks: Buffer[] = [];
  #waiting = 0;
  #writing: Promise<void> = Promise.resolve();
  #syncing: Promise<void> = Promise.resolve();
  #unsynced = 0;

  private constructor(path: string, file: PinnedFile, handle: FileHandle) {
    this.#path = path;
    this.#file = file;
    this.#handle = handle;
    this.#hash = startHash(file);
    PartialFile.#open += 1;
  }

  /** Reads what an earlier process left; later tries of this one go on with the hash that they have. */
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
    for await (const chunk of createReadStream(this.#path, { highWaterMark: 2 ** 20 })) {
      this.#hash.update(chunk);
      this.size += chunk.length;
    }
    this.#tag = await readFile(tagPath(this.#path), 'utf8').catch(() => null);
  }

  /** The part is for the same file as before, or the whole file comes. */
  rangeHeaders(): Record<string, string> {
    if (this.size === 0) return {};
    return { range: `bytes=${this.size}-`, ...(this.#tag !== null && { 'if-range': this.#tag }) };
  }

  async noteTag(tag: string | undefined): Promise<void> {
    const strong = tag !== undefined && !tag.startsWith('W/') ? tag : null;
    if (strong === this.#tag) return;
    this.#tag = strong;
    if (strong === null) await rm(tagPath(this.#path), { force: true });
    else await writeFile(tagPath(this.#path), strong);
  }

  /** Takes the chunk over: once it is written, its memory is gone. */
  async write(chunk: Buffer): Promise<void> {
    this.#hash.update(chunk);
    this.#chunks.push(chunk);
    this.size += chunk.length;
    this.#waiting += chunk.length;
    if (this.#waiting < writeBytes(PartialFile.#open)) return;
    await this.#writing;
    this.#begin();
  }

  /** Has all that came written, or throws why it is not. */
  async flush(): Promise<void> {
    await this.#writing;
    this.#begin();
    await this.#writing;
  }

  /** Writes what has come, while more comes. */
  #begin(): void {
    const chunks = this.#chunks;
    this.#unsynced += this.#waiting;
    this.#chunks = [];
    this.#waiting = 0;
    this.#writing = this.#store(chunks);
    this.#writing.catch((error) => {
      this.failure = error; // and thrown by the next write or flush
    });
  }

  async #store(chunks: readonly Buffer[]): Promise<void> {
    await writeAll(this.#handle, chunks);
    for (const chunk of chunks) release(chunk);
    if (this.#unsynced < SYNC_BYTES) return;
    await this.#syncing;
    this.#unsynced = 0;
    this.#syncing = this.#handle.datasync();
    this.#syncing.catch(() => {}); // thrown by the next one
  }

  /** Forgets everything that has come. */
  async restart(): Promise<void> {
    this.#chunks = [];
    this.#waiting = 0;
    await this.#writing.catch(() => {});
    this.#writing = Promise.resolve();
    this.size = 0;
    this.#hash = startHash(this.#file);
    await this.#handle.truncate(0);
    await rm(tagPath(this.#path), { force: true });
    this.#tag = null;
  }

  /** True when it is whole, right and on the disk. */
  async finish(): Promise<boolean> {
    await this.flush();
    if (this.#hash.copy().digest('hex') !== hexOf(this.#file)) return false;
    if ((await this.#handle.stat()).size !== this.size) return false; // a leader that was frozen wrote to it too
    await this.#syncing;
    await this.#handle.sync();
    await rm(tagPath(this.#path), { force: true });
    return true;
  }

  async close(): Promise<void> {
    PartialFile.#open -= 1;
    await this.#syncing.catch(() => {});
    await this.#handle.close();
  }
}

/** Removes what has come of a file. */
export async function discard(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(tagPath(path), { force: true });
}

export function tagPath(path: string): string {
  return `${path}.tag`;
}

/** Returns the digest in hex, as a hub names the file's content. */
export function hexOf({ digest }: Pick<PinnedFile, 'digest'>): string {
  return digest.slice(digest.indexOf(':') + 1);
}

/** Git's digest is over a head and the content. */
function startHash({ digest, size }: PinnedFile): Hash {
  return digest.startsWith('git:') ? createHash('sha1').update(`blob ${size}\0`) : createHash('sha256');
}

function writeBytes(openFiles: number): number {
  return Math.max(MIN_WRITE_BYTES, Math.min(WRITE_BYTES, COLLECTED_BYTES / openFiles));
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

/** Gives the memory of a chunk back at once: V8, for which a chunk is small, would let tens of megabytes add up. */
function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
