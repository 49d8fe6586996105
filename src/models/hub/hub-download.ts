import { type FileHandle, open } from 'node:fs/promises';
import { readBulk } from '../../core/files/bulk-file-reads.ts';
import type { UserId } from '../../core/ids.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import type { Bandwidth } from '../fetch/bandwidth.ts';
import { type FileOrigin, fetchFile } from '../fetch/fetch-file.ts';
import type { HubContent } from './hub-content.ts';
import { type HubFolder, readStored } from './hub-folder.ts';

interface DownloadDeps {
  folder: HubFolder;
  bandwidth: Bandwidth;
  lingerMs: number;
  retryMs: number;
  onReceived: (bytes: number) => void;
}

/** A content that is being fetched, with its readers. It continues for a while without any. */
export class HubDownload {
  /** Resolves when it is stored, or has failed. */
  readonly ended: Promise<void>;
  readonly #file: PinnedFile;
  readonly #deps: DownloadDeps;
  readonly #controller = new AbortController();
  #size: number;
  /** Incremented when the fetch starts over: what was read before may be wrong. */
  #attempt = 0;
  #state: 'waiting' | 'running' | 'stored' | 'failed' = 'waiting';
  #failure: unknown;
  #followers = 0;
  #linger: NodeJS.Timeout | undefined;
  #news = Promise.withResolvers<void>();

  constructor(file: PinnedFile, origin: FileOrigin, deps: DownloadDeps) {
    this.#file = file;
    this.#deps = deps;
    this.#size = deps.folder.begunBytes(file);
    this.ended = this.#run(origin);
  }

  get digest(): string {
    return this.#file.digest;
  }

  /** True once it has had no reader for too long. */
  get isStopping(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Bytes that are here. */
  get size(): number {
    return this.#size;
  }

  follow(userId: UserId): HubContent {
    clearTimeout(this.#linger);
    this.#followers += 1;
    let handle: FileHandle | null = null;
    let isClosed = false;
    let attempt: number | null = null;
    const read = async (buffer: Buffer, at: number) => {
      while (this.#state === 'waiting') await this.#news.promise;
      attempt ??= this.#attempt;
      return this.#read(buffer, at, {
        attempt,
        reader: userId,
        opened: async () => {
          handle ??= await this.#openFile();
          return handle;
        },
      });
    };
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      this.#followers -= 1;
      if (this.#followers === 0) this.#linger = setTimeout(() => this.#controller.abort(), this.#deps.lingerMs).unref();
      await handle?.close();
    };
    return { isStored: false, read, close };
  }

  async stop(): Promise<void> {
    this.#controller.abort(new Error('the server stops'));
    await this.ended;
  }

  async #run(origin: FileOrigin): Promise<void> {
    const { folder, bandwidth, retryMs } = this.#deps;
    const path = folder.beginnings.pathOf(this.#file);
    const { signal } = this.#controller;
    try {
      const onSize = (size: number, received: number) => this.#onSize(size, received);
      await fetchFile({ bandwidth, retryMs }, origin, this.#file, { path, onSize, signal });
      await folder.beginnings.noteEnd(this.#file);
      await folder.seal(this.#file);
      this.#state = 'stored';
    } catch (error) {
      this.#state = 'failed';
      this.#failure = error;
      await folder.beginnings.noteEnd(this.#file).catch(() => {});
    } finally {
      clearTimeout(this.#linger);
      this.#announce();
    }
  }

  #onSize(size: number, received: number): void {
    if (this.#state === 'running' && size !== this.#size + received) this.#attempt += 1;
    this.#state = 'running';
    this.#size = size;
    this.#deps.onReceived(received);
    this.#announce();
  }

  #announce(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  async #read(
    buffer: Buffer,
    at: number,
    { attempt, reader, opened }: { attempt: number; reader: string; opened: () => Promise<FileHandle> },
  ): Promise<number> {
    for (;;) {
      if (this.#state === 'failed') throw this.#failure;
      if (this.#attempt !== attempt) throw new Error('its beginning was wrong: it is fetched again');
      const news = this.#news.promise;
      if (this.#state === 'stored') return readStored(reader, await opened(), buffer, at);
      const there = Math.min(buffer.length, this.#size - at, this.#file.size - 1 - at);
      const bytesRead = there > 0 ? await readBulk(reader, await opened(), buffer.subarray(0, there), at) : 0;
      if (bytesRead === 0)
        await news; // it is still in memory, or to come
      else if (this.#attempt === attempt) return bytesRead;
    }
  }

  /** It is renamed once it is whole. */
  async #openFile(): Promise<FileHandle> {
    const { folder } = this.#deps;
    return open(folder.beginnings.pathOf(this.#file), 'r').catch(() => open(folder.blobOf(this.#file), 'r'));
  }
}
