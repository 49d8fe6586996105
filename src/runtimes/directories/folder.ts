import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Opens what stands at a name without using it, so that a device or a pipe does nothing (open(2)). */
const O_PATH = 0o10000000;

/** Users of images run as whichever id they like. */
const ANY_USER = 0o777;

/**
 * An open directory whose entries are reached through its descriptor, one name at a time. A process that can write in it may rename it or
 * replace it with a symbolic link meanwhile: the open directory stays the same, and no link is ever followed. Linux only.
 */
export class Folder {
  readonly handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.handle = handle;
  }

  /** Opens a directory by its whole path, which must be Podyard's own. */
  static async open(path: string): Promise<Folder> {
    return new Folder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }

  /** Returns a path of an entry that is valid while this is open. `name`: one name, without a slash. */
  at(name: string): string {
    return `${this.path}/${checkedName(name)}`;
  }

  /** A path of the directory itself that is valid while this is open. */
  get path(): string {
    return `/proc/self/fd/${this.handle.fd}`;
  }

  /** Opens a directory in it. Fails with ENOENT, or with ENOTDIR for anything else, also a link to a directory. */
  enter(name: string): Promise<Folder> {
    return Folder.open(this.at(name));
  }

  /** Opens a directory in it, and makes it where it is missing. */
  async make(name: string): Promise<Folder> {
    try {
      return await this.enter(name);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    const isNew = await mkdir(this.at(name), ANY_USER).then(
      () => true,
      (error) => {
        if (codeOf(error) !== 'EEXIST') throw error;
        return false;
      },
    );
    const made = await this.enter(name);
    if (isNew) await made.handle.chmod(ANY_USER).catch(async (error) => closeAfter(made, error)); // regardless of the umask
    return made;
  }

  /** Describes an entry, a link as such. Fails with ENOENT. */
  look(name: string): Promise<BigIntStats> {
    return lstat(this.at(name), { bigint: true });
  }

  /** Opens a regular file for reading; undefined for anything else, which is not touched. Fails with ENOENT. */
  async openFile(name: string): Promise<FileHandle | undefined> {
    const found = await open(this.at(name), O_PATH | O_NOFOLLOW);
    try {
      if (!(await found.stat()).isFile()) return undefined;
      return await open(`/proc/self/fd/${found.fd}`, O_RDONLY);
    } finally {
      await found.close();
    }
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

/** Opens the directory at `names` under `root`, makes what is missing if `isMade`, calls `use`, and closes what it opened. */
export async function within<T>(
  root: Folder,
  names: readonly string[],
  isMade: boolean,
  use: (folder: Folder) => Promise<T>,
): Promise<T> {
  let folder = root;
  try {
    for (const name of names) {
      const next = await (isMade ? folder.make(name) : folder.enter(name));
      if (folder !== root) await folder.close();
      folder = next;
    }
    return await use(folder);
  } finally {
    if (folder !== root) await folder.close();
  }
}

/** Returns the code of an error of the system, such as ENOENT. */
export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

function checkedName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0'))
    throw new Error(`'${name}' is not the name of a file`);
  return name;
}

async function closeAfter(folder: Folder, error: unknown): Promise<never> {
  await folder.close();
  throw error;
}
