import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** What a directory is for: the storage of one network volume, or the persistent storage of one pod. */
export type StorageOwner = { kind: 'volume'; dataCenterId: string; id: string } | { kind: 'pod'; id: string };

/** Ids are made by us and data centres by the operator: what does not look like one is a mistake, and never a path. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * The directories of this machine that workloads mount: `<root>/volumes/<data centre>/<volume>` and `<root>/pods/<pod>`.
 * No user has a say in a name. The root lets nobody in but Podyard's own user, while a directory itself is open to
 * every user id, because images run as whichever they like; a workload sees its own mount and nothing beside it.
 */
export class StorageDirectories {
  readonly root: string;

  /** `root` belongs to one installation: another database beside the same files must not take them for its own. */
  constructor(root: string) {
    this.root = root;
  }

  pathOf(owner: StorageOwner): string {
    const parts = owner.kind === 'pod' ? ['pods', owner.id] : ['volumes', owner.dataCenterId, owner.id];
    const wrong = parts.find((part) => !PLAIN_NAME.test(part));
    if (wrong !== undefined) throw new Error(`'${wrong}' cannot be the name of a directory`);
    return join(this.root, ...parts);
  }

  /** Makes it unless it is there, and answers its path. */
  async ensure(owner: StorageOwner): Promise<string> {
    const path = this.pathOf(owner);
    if (await isThere(path)) return path;
    await mkdir(this.root, { recursive: true, mode: 0o700 });
    await mkdir(path, { recursive: true });
    await chmod(path, 0o777); // whatever the umask says
    return path;
  }

  /** Removes it with all that it holds; nothing when it is not there. A kill half way leaves what the next call removes. */
  async remove(owner: StorageOwner): Promise<void> {
    const path = this.pathOf(owner);
    const doomed = join(this.root, `removed-${owner.kind}-${owner.id}`);
    await rename(path, doomed).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rm(doomed, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
