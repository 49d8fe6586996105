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
import { join } from 'node:path';
import { readBulk } from '../../core/files/bulk-file-reads.ts';
import type { UserId } from '../../core/ids.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { Beginnings } from '../store/beginnings.ts';
import { BlobFiles } from '../store/blob-files.ts';
import { blobName } from '../store/model-paths.ts';
import type { HubContent } from './hub-content.ts';

/** Every stored content has this time of change: one with another time was changed by hand. */
const SEALED_AT = new Date('2000-01-01T00:00:00Z');

/** A file that may leave to make room. */
export interface HubEntry {
  kind: 'blob' | 'partial' | 'answer';
  path: string;
  bytes: number;
  /** Bytes that a running fetch still brings. */
  comingBytes: number;
  usedAtMs: number;
  /** Null: it is not content. */
  digest: string | null;
  /** The user whose request fetched it first; null: not known. */
  owner: string | null;
  /** As of `Beginning`. */
  isOwn: boolean;
  isOthers: boolean;
}

/**
 * The hub's folder:
 *   blobs/<digest>      whole contents, checked; the time of access is that of their last use
 *   partial/            beginnings of those that a process fetches (store/beginnings.ts)
 *   owners/<digest>     a symbolic link to nowhere, whose target is the user who had a content fetched first
 *   answers/<key>.json  what the hub answered last
 */
export class HubFolder {
  readonly beginnings: Beginnings;
  readonly #root: string;
  readonly #store: BlobFiles;

  constructor(root: string, storeRoot: string) {
    this.#root = root;
    this.beginnings = new Beginnings(root);
    this.#store = new BlobFiles(storeRoot);
  }

  async open(): Promise<void> {
    for (const folder of ['blobs', 'owners']) await mkdir(join(this.#root, folder), { recursive: true, mode: 0o700 });
    await this.beginnings.open();
  }

  /** Returns how much is there of a content that this process began to fetch. */
  begunBytes(file: PinnedFile): number {
    return statSync(this.beginnings.pathOf(file), { throwIfNoEntry: false })?.size ?? 0;
  }

  blobOf(file: PinnedFile): string {
    return join(this.#root, 'blobs', blobName(file));
  }

  isStored(file: PinnedFile): boolean {
    return this.#isIntact(file) || this.#store.isIntact(file);
  }

  /** Makes a content that was fetched and checked visible. */
  async seal(file: PinnedFile): Promise<void> {
    const partial = this.beginnings.pathOf(file);
    await chmod(partial, 0o444);
    await utimes(partial, new Date(), SEALED_AT);
    await rename(partial, this.blobOf(file));
  }

  /** Returns null for a missing content, or one that was changed by hand. */
  async openStored(file: PinnedFile, userId: UserId): Promise<HubContent | null> {
    const path = this.blobOf(file);
    if (!this.#isIntact(file)) {
      if (!this.#store.isIntact(file)) return null;
      await rm(path, { force: true });
      await link(this.#store.pathOf(file), path).catch(() => {}); // the store's own may leave
    }
    const handle = await open(path, 'r').catch(() => null);
    if (handle === null) return null;
    await utimes(path, new Date(), SEALED_AT).catch(() => {});
    return {
      isStored: true,
      read: (buffer, at) => readStored(userId, handle, buffer, at),
      close: () => handle.close(),
    };
  }

  #isIntact(file: PinnedFile): boolean {
    const found = statSync(this.blobOf(file), { throwIfNoEntry: false });
    return found?.size === file.size && found.mtime.getTime() === SEALED_AT.getTime();
  }

  /** Those used longest ago come first. */
  async list(): Promise<HubEntry[]> {
    const entries: HubEntry[] = [];
    for (const { name, ...begun } of await this.beginnings.list())
      entries.push({ kind: 'partial', ...begun, ...(await this.#ownerIn(name)) });
    for (const [kind, part] of [
      ['blob', 'blobs'],
      ['answer', 'answers'],
    ] as const) {
      for (const name of await readdir(join(this.#root, part)).catch(() => [])) {
        const path = join(this.#root, part, name);
        const found = await stat(path).catch(() => null); // it may have just left
        if (!found) continue;
        const owned = kind === 'blob' ? await this.#ownerIn(name) : { digest: null, owner: null };
        const { size: bytes, atimeMs: usedAtMs } = found;
        entries.push({ kind, path, bytes, usedAtMs, comingBytes: 0, isOwn: false, isOthers: false, ...owned });
      }
    }
    return entries.sort((one, other) => one.usedAtMs - other.usedAtMs);
  }

  async #ownerIn(name: string): Promise<Pick<HubEntry, 'digest' | 'owner'>> {
    const owner = await readlink(this.#ownerOf(name)).catch(() => null);
    return { digest: name.replace('-', ':'), owner };
  }

  async remove({ kind, path, digest }: HubEntry): Promise<void> {
    if (kind === 'partial') await this.beginnings.remove({ path });
    else await rm(path, { force: true });
    if (digest !== null) await rm(this.#ownerOf(digest.replace(':', '-')), { force: true });
  }

  /** Records the user who has a content fetched, unless one is recorded. */
  async claim(file: PinnedFile, userId: UserId): Promise<void> {
    await symlink(userId, this.#ownerOf(blobName(file))).catch(() => {});
  }

  #ownerOf(blob: string): string {
    return join(this.#root, 'owners', blob);
  }
}

/** Throws if nothing is there. */
export async function readStored(reader: string, handle: FileHandle, buffer: Buffer, at: number): Promise<number> {
  const bytesRead = await readBulk(reader, handle, buffer, at);
  if (bytesRead === 0) throw new Error('a stored content ended too early');
  return bytesRead;
}
