import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../../core/errors.ts';
import type { StorageOwner, StorageRequest, WorkloadStorage } from '../runtime.ts';
import { countBytes } from './count-bytes.ts';
import { codeOf, Folder } from './folder.ts';
import type { StorageQuotas } from './storage-quotas.ts';
import { sweepUploads } from './sweep-uploads.ts';

/** Podyard makes the ids and the operator names the data centers: any other name is a bug, and must not become a path. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * Directories of this machine that workloads mount: `<root>/volumes/<data center>/<volume>` and `<root>/pods/<pod>`.
 * Users choose none of the names. Only Podyard's own user can enter the root; the directories themselves are open to
 * every user id, because images run as whichever they like. A workload sees its own mount and nothing beside it.
 */
export class StorageDirectories implements WorkloadStorage {
  readonly #deps: { root: string; quotas: StorageQuotas };

  /** `root` belongs to one installation: another database on the same files must not take them for its own. */
  constructor(deps: { root: string; quotas: StorageQuotas }) {
    this.#deps = deps;
  }

  async ensure(owner: StorageOwner, { sizeGb }: StorageRequest): Promise<string> {
    const path = this.#pathOf(owner);
    try {
      if (!(await isThere(path))) await this.#make(path);
      await this.#deps.quotas.limit(path, sizeGb);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      const detail = 'The storage could not be created: the disk of this machine is full';
      throw new Failure('unavailable', detail, { cause: error });
    }
  }

  async openFiles(owner: StorageOwner, request: StorageRequest): Promise<Folder> {
    const path = this.#pathOf(owner);
    const folder = await Folder.open(path).catch(async (error) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      return Folder.open(await this.ensure(owner, request));
    });
    await this.#deps.quotas.limit(path, request.sizeGb);
    return folder;
  }

  async sweepUploads(owner: StorageOwner): Promise<void> {
    const path = this.#pathOf(owner);
    if (process.platform !== 'linux' || !(await isThere(path))) return;
    const top = await Folder.open(path);
    try {
      await sweepUploads(top, Date.now());
    } finally {
      await top.close();
    }
  }

  /** Renames first: what a kill halfway leaves is removed by the next call. */
  async remove(owner: StorageOwner): Promise<void> {
    const path = this.#pathOf(owner);
    const removed = join(this.#deps.root, `removed-${owner.kind}-${owner.id}`);
    await rename(path, removed).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rm(removed, { recursive: true, force: true, maxRetries: 3 });
  }

  usedBytes(owner: StorageOwner): Promise<number> {
    return directoryBytes(this.#pathOf(owner));
  }

  #pathOf(owner: StorageOwner): string {
    const parts = owner.kind === 'pod' ? ['pods', owner.id] : ['volumes', owner.dataCenterId, owner.id];
    const wrong = parts.find((part) => !PLAIN_NAME.test(part));
    if (wrong !== undefined) throw new Error(`'${wrong}' is not a valid directory name`);
    return join(this.#deps.root, ...parts);
  }

  async #make(path: string): Promise<void> {
    await mkdir(this.#deps.root, { recursive: true, mode: 0o700 });
    await mkdir(path, { recursive: true });
    await chmod(path, 0o777); // regardless of the umask
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

const TIMEOUT_MS = 600_000;

/**
 * Returns the bytes of a directory on one file system, without following links; 0 if it does not exist. Uses `du`, which no
 * concurrent rename leads astray, where it is installed: the image of the server has none.
 */
export async function directoryBytes(path: string): Promise<number> {
  if (!existsSync(path)) return 0;
  try {
    const { stdout } = await promisify(execFile)('du', ['-s', '-k', '-x', '--', path], { timeout: TIMEOUT_MS });
    return parseKibibytes(stdout);
  } catch (error) {
    // du exits with 1 when files vanished while it counted; its count still stands.
    const { stdout, code } = error as { stdout?: string; code?: unknown };
    if (code === 1 && stdout) return parseKibibytes(stdout);
    if (code === 'ENOENT') return countBytes(path);
    throw error;
  }
}

function parseKibibytes(text: string): number {
  return Number.parseInt(text, 10) * 1024;
}
