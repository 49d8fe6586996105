import { statSync } from 'node:fs';
import {
  chmod,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  utimes,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import type { UserId } from '../../core/ids.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { BlobFiles } from '../store/blob-files.ts';
import { blobName } from '../store/model-paths.ts';
import type { HubContent } from './hub-content.ts';

/** Every stored content has this time of change: one with another time was changed by hand. */
const SEALED_AT = new Date('2000-01-01T00:00:00Z');
const CHUNK_BYTES = 2 ** 18;

/** A file that may leave to make room. */
export interface HubEntry {
  kind: 'blob' | 'partial' | 'answer';
  path: string;
  bytes: number;
  usedAtMs: number;
  /** Null: it is not content. */
  digest: string | null;
  /** Who had it fetched first; null: it is not known. */
  owner: string | null;
  /** Another process of this machine is fetching it. */
  isOthers: boolean;
}

/**
 * The hub's folder:
 *   blobs/<digest>                    whole contents, checked; the time of access is that of their last use
 *   partial/<machine>-<pid>/<digest>  beginnings of those that a process fetches: processes do not write to each other's
 *   owners/<digest>                   a symbolic link to nowhere, whose target is the user who had a content fetched first
 *   answers/<key>.json                what the hub answered last
 */
export class HubFolder {
  readonly #root: string;
  readonly #own: string;
  readonly #store: BlobFiles;

  constructor(root: string, storeRoot: string) {
    this.#root = root;
    this.#own = join(root, 'partial', `${hostname()}-${process.pid}`);
    this.#store = new BlobFiles(storeRoot);
  }

  /** Takes over the beginnings of processes that have ended. */
  async open(): Promise<void> {
    for (const folder of [join(this.#root, 'blobs'), join(this.#root, 'owners'), this.#own])
      await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(join(this.#root, 'partial'))) {
      const pid = pidIn(name);
      if (pid === null || pid === process.pid || isRunning(pid)) continue;
      const folder = join(this.#root, 'partial', name);
      for (const file of await readdir(folder)) await rename(join(folder, file), join(this.#own, file)).catch(() => {});
      await rm(folder, { recursive: true, force: true });
    }
    for (const name of await readdir(this.#own)) await chmod(join(this.#own, name), 0o600); // one may be half sealed
  }

  partialOf(file: PinnedFile): string {
    return join(this.#own, blobName(file));
  }

  /** Returns how much is there of a content that this process began to fetch. */
  begunBytes(file: PinnedFile): number {
    return statSync(this.partialOf(file), { throwIfNoEntry: false })?.size ?? 0;
  }

  blobOf(file: PinnedFile): string {
    return join(this.#root, 'blobs', blobName(file));
  }

  isStored(file: PinnedFile): boolean {
    return this.#isIntact(file) || this.#store.isIntact(file);
  }

  /** Makes a content that was fetched and checked visible. */
  async seal(file: PinnedFile): Promise<void> {
    const partial = this.partialOf(file);
    await chmod(partial, 0o444);
    await utimes(partial, new Date(), SEALED_AT);
    await rename(partial, this.blobOf(file));
  }

  /** Returns null for what is not here, or was changed by hand. */
  async openStored(file: PinnedFile): Promise<HubContent | null> {
    const path = this.blobOf(file);
    if (!this.#isIntact(file)) {
      if (!this.#store.isIntact(file)) return null;
      await rm(path, { force: true });
      await link(this.#store.pathOf(file), path).catch(() => {}); // the store's own may leave
    }
    const handle = await open(path, 'r').catch(() => null);
    if (handle === null) return null;
    await utimes(path, new Date(), SEALED_AT).catch(() => {});
    return { isStored: true, read: (start, end) => readAll(handle, start, end), close: () => handle.close() };
  }

  #isIntact(file: PinnedFile): boolean {
    const found = statSync(this.blobOf(file), { throwIfNoEntry: false });
    return found?.size === file.size && found.mtime.getTime() === SEALED_AT.getTime();
  }

  /** Those used longest ago come first. */
  async list(): Promise<HubEntry[]> {
    const folders: [HubEntry['kind'], string][] = [
      ['blob', join(this.#root, 'blobs')],
      ['answer', join(this.#root, 'answers')],
      ...(await readdir(join(this.#root, 'partial'))).map(
        (name) => ['partial', join(this.#root, 'partial', name)] as [HubEntry['kind'], string],
      ),
    ];
    const entries: HubEntry[] = [];
    for (const [kind, folder] of folders) {
      const pid = kind === 'partial' ? pidIn(basename(folder)) : null;
      const isOthers = pid !== null && pid !== process.pid && isRunning(pid);
      for (const name of await readdir(folder).catch(() => [])) {
        const path = join(folder, name);
        const found = await stat(path).catch(() => null); // it may have just become whole, or left
        if (!found) continue;
        const blob = kind === 'answer' ? null : name.replace(/\.tag$/, '');
        const owner = blob === null ? null : await readlink(this.#ownerOf(blob)).catch(() => null);
        const digest = blob?.replace('-', ':') ?? null;
        entries.push({ kind, path, bytes: found.size, usedAtMs: found.atimeMs, digest, owner, isOthers });
      }
    }
    return entries.sort((one, other) => one.usedAtMs - other.usedAtMs);
  }

  async remove({ path, digest }: HubEntry): Promise<void> {
    await rm(path, { force: true });
    if (digest !== null) await rm(this.#ownerOf(digest.replace(':', '-')), { force: true });
  }

  /** Notes who has a content fetched, unless somebody had before. */
  async claim(file: PinnedFile, userId: UserId): Promise<void> {
    await symlink(userId, this.#ownerOf(blobName(file))).catch(() => {});
  }

  #ownerOf(blob: string): string {
    return join(this.#root, 'owners', blob);
  }
}

async function* readAll(handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; ) {
    const chunk = await readChunk(handle, at, end);
    if (chunk.length === 0) throw new Error('a stored content ended too early');
    at += chunk.length;
    yield chunk;
  }
}

/** Returns what is there of the bytes from `at` on; nothing: no more yet. */
export async function readChunk(handle: FileHandle, at: number, end: number): Promise<Buffer> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
  const { bytesRead } = await handle.read(chunk, 0, chunk.length, at);
  return chunk.subarray(0, bytesRead);
}

/** Returns the process of this machine whose beginnings are in a folder of that name; null: it was on another machine. */
function pidIn(folder: string): number | null {
  const [, host, pid] = /^(.*)-(\d+)$/.exec(folder) ?? [];
  return host === hostname() ? Number(pid) : null;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
