/**
 * Copies of the folders of images, by content: a release keeps its image as it was when the release was made, even if the folder is
 * edited (docs/decisions/0103-identity-of-images.md). A digest has
 *   <root>/<hexadecimal digest>/files/      the folder's files
 *   <root>/<hexadecimal digest>/image.json  the command
 */
import { createHash } from 'node:crypto';
import { constants, createReadStream, existsSync, readFileSync } from 'node:fs';
import {
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure, messageOf } from '../../core/errors.ts';
import { Semaphore } from '../../core/flow/semaphore.ts';
import { newId } from '../../core/ids.ts';
import type { ProcessImage } from './images-file.ts';

/** The most that is copied: a larger folder holds more than code. */
const LIMITS = { bytes: 2 * 2 ** 30, entries: 100_000 };
/** A copy that nothing refers to may be one that a release is about to get. */
const FRESH_MS = 10 * 60_000;
const CONCURRENT_COPIES = 8;
const MAX_REMEMBERED = 1_000;
const DIGEST = /sha256:([0-9a-f]{64})$/;
/** Not run, and changed by mere use of the folder. */
const LEFT_OUT = new Set(['.git', '__pycache__']);

interface Entry {
  /** Relative to the folder. */
  path: string;
  kind: 'file' | 'folder' | 'link';
  isExecutable: boolean;
  bytes: number;
  /** Differs when the file was written or replaced. */
  version: string;
}

export class FolderImages {
  readonly #root: string;
  readonly #apart: ReadonlySet<string>;
  readonly #limits: typeof LIMITS;
  /** By folder and command: the digest, and the listing that it was computed for. */
  readonly #digests = new BoundedMap<string, { listing: string; digest: string }>(MAX_REMEMBERED);

  /** `apart`: folders that are not part of an image although they are in its folder, such as the server's own data. */
  constructor(root: string, options: { apart: readonly string[]; limits?: typeof LIMITS }) {
    this.#root = root;
    this.#apart = new Set(options.apart);
    this.#limits = options.limits ?? LIMITS;
  }

  /** Returns the image that a reference or digest names; undefined when there is no copy. */
  find(reference: string): ProcessImage | undefined {
    const folder = this.#folderOf(reference);
    if (folder === undefined || !existsSync(folder)) return undefined;
    const { command } = JSON.parse(readFileSync(join(folder, 'image.json'), 'utf8')) as ProcessImage;
    return { command, directory: join(folder, 'files') };
  }

  /**
   * Copies the folder unless there is a copy of what it contains, and returns the digest. A folder that did not change since
   * the last call is only listed. Returns null for one that is too large to copy. Throws a sentence fit for users.
   */
  async keep({ command, directory }: ProcessImage): Promise<string | null> {
    try {
      const folder = await realpath(directory);
      const entries = await this.#list(folder);
      if (entries === null) return null;
      const key = JSON.stringify([folder, command]);
      const listing = createHash('sha256').update(JSON.stringify(entries)).digest('hex');
      const known = this.#digests.get(key);
      if (known?.listing === listing && (await this.#touch(known.digest))) return known.digest;
      const digest = await this.#copy(folder, entries, command);
      this.#digests.set(key, { listing, digest });
      return digest;
    } catch (error) {
      throw copyFailure(directory, error);
    }
  }

  /** Removes all copies but those that these references name, and fresh ones. */
  async prune(references: readonly string[]): Promise<void> {
    const kept = new Set(references.map((reference) => this.#folderOf(reference)));
    for (const name of await readdir(this.#root).catch(() => [])) {
      const folder = join(this.#root, name);
      if (kept.has(folder)) continue;
      const age = Date.now() - ((await lstat(folder).catch(() => undefined))?.mtimeMs ?? 0);
      if (age >= FRESH_MS) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  #folderOf(reference: string): string | undefined {
    const [, name] = DIGEST.exec(reference) ?? [];
    return name && join(this.#root, name);
  }

  /** Marks a copy as fresh. False when there is none. */
  async #touch(digest: string): Promise<boolean> {
    const now = new Date();
    return utimes(this.#folderOf(digest)!, now, now).then(
      () => true,
      () => false,
    );
  }

  /** Returns what the folder contains, in a fixed order; null when that is too much. Sockets and devices are left out. */
  async #list(folder: string): Promise<Entry[] | null> {
    const entries: Entry[] = [];
    let bytes = 0;
    const open = [''];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const name of await readdir(join(folder, at))) {
        const path = join(at, name);
        if (LEFT_OUT.has(name) || this.#apart.has(join(folder, path))) continue;
        const entry = await describe(folder, path);
        if (entry === null) continue;
        entries.push(entry);
        bytes += entry.bytes;
        if (bytes > this.#limits.bytes || entries.length > this.#limits.entries) return null;
        if (entry.kind === 'folder') open.push(path);
      }
    }
    return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Copies first and hashes the copy: an edit in between cannot make the two differ. */
  async #copy(folder: string, entries: readonly Entry[], command: readonly string[]): Promise<string> {
    const work = join(this.#root, `new-${newId<string>()}`);
    try {
      await mkdir(join(work, 'files'), { recursive: true, mode: 0o700 });
      await writeFile(join(work, 'image.json'), JSON.stringify({ command }));
      for (const { kind, path } of entries) if (kind === 'folder') await mkdir(join(work, 'files', path));
      const slots = new Semaphore(CONCURRENT_COPIES);
      const copyOne = (entry: Entry) => slots.run(() => copyEntry(folder, join(work, 'files'), entry));
      const contents = await Promise.all(entries.map(copyOne));
      const lines = entries.map(({ path, kind, isExecutable }, i) => [kind, isExecutable, path, contents[i]]);
      const digest = createHash('sha256')
        .update(JSON.stringify([command, lines]))
        .digest('hex');
      await rename(work, join(this.#root, digest)).catch(async (error) => {
        if (!(await this.#touch(`sha256:${digest}`))) throw error; // else there was a copy already
      });
      return `sha256:${digest}`;
    } finally {
      await rm(work, { recursive: true, force: true, maxRetries: 3 });
    }
  }
}

async function describe(folder: string, path: string): Promise<Entry | null> {
  const stat = await lstat(join(folder, path));
  const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : null;
  if (kind === null) return null;
  const isFile = kind === 'file';
  const version = isFile
    ? `${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs}`
    : kind === 'link'
      ? await readlink(join(folder, path))
      : '';
  return { path, kind, isExecutable: isFile && (stat.mode & 0o111) !== 0, bytes: isFile ? stat.size : 0, version };
}

/** Returns what identifies the content. Shares the disk's blocks with the original where the file system can. */
async function copyEntry(from: string, to: string, { path, kind }: Entry): Promise<string> {
  if (kind === 'folder') return '';
  if (kind === 'link') {
    const target = targetOf(from, path, await readlink(join(from, path)));
    await symlink(target, join(to, path));
    return target;
  }
  await copyFile(join(from, path), join(to, path), constants.COPYFILE_FICLONE);
  const hash = createHash('sha256');
  await pipeline(createReadStream(join(to, path)), hash);
  return hash.digest('hex');
}

/** A link within the folder stays one; any other one leads where it led. */
function targetOf(folder: string, path: string, target: string): string {
  const absolute = resolve(folder, dirname(path), target);
  const isInside = absolute === folder || absolute.startsWith(folder + sep);
  return isInside ? relative(join(folder, dirname(path)), absolute) || '.' : absolute;
}

function copyFailure(directory: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { code } = error as NodeJS.ErrnoException;
  const cause = { cause: error };
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new Failure('unavailable', `The disk of this machine is full: ${directory} could not be copied`, cause);
  }
  if (code === 'ENOENT')
    return new Failure('unprocessable', `${directory} is not there, or changed while it was copied`, cause);
  return new Failure('unprocessable', `${directory} could not be copied: ${messageOf(error)}`, cause);
}
