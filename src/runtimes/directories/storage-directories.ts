import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../../core/errors.ts';
import type { StorageOwner, StorageWish, WorkloadStorage } from '../storage.ts';
import type { StorageQuotas } from './storage-quotas.ts';

/** Ids are made by us and data centres by the operator: what does not look like one is a mistake, and never a path. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const DU_TIMEOUT_MS = 600_000;

/**
 * The directories of this machine that workloads mount: `<root>/volumes/<data centre>/<volume>` and `<root>/pods/<pod>`.
 * No user has a say in a name. The root lets nobody in but Podyard's own user, while a directory itself is open to
 * every user id, because images run as whichever they like; a workload sees its own mount and nothing beside it.
 */
export class StorageDirectories implements WorkloadStorage {
  readonly #root: string;
  readonly #quotas: StorageQuotas;

  /** `root` belongs to one installation: another database beside the same files must not take them for its own. */
  constructor(options: { root: string; quotas: StorageQuotas }) {
    this.#root = options.root;
    this.#quotas = options.quotas;
  }

  async ensure(owner: StorageOwner, { sizeGb }: StorageWish): Promise<string> {
    const path = this.#pathOf(owner);
    try {
      if (!(await isThere(path))) await this.#make(path);
      await this.#quotas.limit(path, sizeGb);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      const detail = 'The disk of this machine is full: the storage could not be made';
      throw new Failure('unavailable', detail, { cause: error });
    }
  }

  /** A kill half way leaves what the next call removes. */
  async remove(owner: StorageOwner): Promise<void> {
    const path = this.#pathOf(owner);
    const doomed = join(this.#root, `removed-${owner.kind}-${owner.id}`);
    await rename(path, doomed).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rm(doomed, { recursive: true, force: true, maxRetries: 3 });
  }

  /** In bytes, on one file system, links not followed; 0 for what is not there. `du` because no rename leads it elsewhere. */
  async usedBytes(owner: StorageOwner): Promise<number> {
    const path = this.#pathOf(owner);
    if (!existsSync(path)) return 0;
    try {
      const { stdout } = await promisify(execFile)('du', ['-s', '-k', '-x', '--', path], { timeout: DU_TIMEOUT_MS });
      return parseKibibytes(stdout);
    } catch (error) {
      // Files that went while it counted make it complain, and count on all the same.
      const { stdout, code } = error as { stdout?: string; code?: unknown };
      if (code === 1 && stdout) return parseKibibytes(stdout);
      throw error;
    }
  }

  #pathOf(owner: StorageOwner): string {
    const parts = owner.kind === 'pod' ? ['pods', owner.id] : ['volumes', owner.dataCenterId, owner.id];
    const wrong = parts.find((part) => !PLAIN_NAME.test(part));
    if (wrong !== undefined) throw new Error(`'${wrong}' cannot be the name of a directory`);
    return join(this.#root, ...parts);
  }

  async #make(path: string): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    await mkdir(path, { recursive: true });
    await chmod(path, 0o777); // whatever the umask says
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function parseKibibytes(text: string): number {
  return Number.parseInt(text, 10) * 1024;
}
