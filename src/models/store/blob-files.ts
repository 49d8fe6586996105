import { linkSync, statSync, symlinkSync } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { hexOf } from '../fetch/partial-file.ts';
import { Beginnings } from './beginnings.ts';
import { blobName } from './model-paths.ts';

/** Every stored file has this time of change: one with another time was changed by hand. */
export const SEALED_AT = new Date('2000-01-01T00:00:00Z');

/**
 * Contents by digest, and the beginnings of those that are being fetched:
 *   blobs/<digest>    whole, checked and read-only; workloads see hard links to it
 *   partial/          the beginnings (beginnings.ts)
 *   links/<digest>-N  what a snapshot of the hub's layout has N folders deep: workers get hard links to these too, which takes a sixtieth of the
 *                     time of new symbolic links
 */
export class BlobFiles {
  readonly beginnings: Beginnings;
  readonly #root: string;

  /** `fetcher`: as of `Beginnings`. */
  constructor(root: string, fetcher?: string) {
    this.#root = root;
    this.beginnings = new Beginnings(root, fetcher);
  }

  async open(): Promise<void> {
    for (const folder of ['blobs', 'links']) await mkdir(join(this.#root, folder), { recursive: true, mode: 0o700 });
    await this.beginnings.open();
  }

  names(): Promise<string[]> {
    return readdir(join(this.#root, 'blobs'));
  }

  async bytes(): Promise<number> {
    return [...(await sizesIn(join(this.#root, 'blobs'))).values()].reduce((sum, size) => sum + size, 0);
  }

  pathOf(file: Pick<PinnedFile, 'digest'>): string {
    return join(this.#root, 'blobs', blobName(file));
  }

  /** True when the content is as it was stored: not removed, cut or changed. */
  isIntact(file: PinnedFile): boolean {
    const found = statSync(this.pathOf(file), { throwIfNoEntry: false });
    return found !== undefined && found.size === file.size && found.mtime.getTime() === SEALED_AT.getTime();
  }

  /** Makes a fetched file visible, at once and for good. */
  async seal(file: PinnedFile): Promise<void> {
    const partial = this.beginnings.pathOf(file);
    await chmod(partial, 0o444);
    await utimes(partial, SEALED_AT, SEALED_AT);
    await this.beginnings.noteEnd(file);
    await rename(partial, this.pathOf(file));
    await syncFolder(dirname(this.pathOf(file)));
  }

  /** Makes `path` a symbolic link to the file's content from so many folders below a snapshot. Throws `EEXIST` if it is there. */
  linkFromSnapshot(file: Pick<PinnedFile, 'digest'>, depth: number, path: string): void {
    const target = `${'../'.repeat(depth + 2)}blobs/${hexOf(file)}`;
    const shared = join(this.#root, 'links', `${blobName(file)}-${depth}`);
    try {
      linkSync(shared, path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') throw error;
      symlinkSync(target, path); // the first one, or the file system takes no hard links to links, or no more of them
      if (code === 'ENOENT') shareLink(path, shared);
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#root, 'blobs', name), { force: true });
    for (const link of await readdir(join(this.#root, 'links'))) {
      if (link.startsWith(`${name}-`)) await rm(join(this.#root, 'links', link), { force: true });
    }
  }
}

/** Has the next snapshot find a link. Where that cannot be, each makes its own. */
function shareLink(path: string, shared: string): void {
  try {
    linkSync(path, shared);
  } catch {
    // another process was faster, or the file system takes no hard links to links
  }
}

async function sizesIn(folder: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name)).catch(() => null); // it may have just become whole, or left
    if (found) sizes.set(name, found.size);
  }
  return sizes;
}

/** Has a name that was just added to a folder survive a crash of the machine. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
