import { createHash, type Hash } from 'node:crypto';
import { constants, createReadStream, type Dirent } from 'node:fs';
import { chmod, type FileHandle, lstat, open, opendir, readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Files of a folder that are read at once. */
const AT_ONCE = 32;
const READING = constants.O_RDONLY | constants.O_NOFOLLOW;
const SMALL_BYTES = 256 * 2 ** 10;

interface Content {
  /** `sha256:` and 64 hexadecimal digits. Covers all paths, contents, links and executable bits. */
  digest: string;
  sizeBytes: number;
}

/** Makes a folder read-only, with all that is in it, and says what it contains. Sockets and devices are removed. */
export async function sealFolder(folder: string, about: string): Promise<Content> {
  const hash = createHash('sha256').update(about);
  const sizeBytes = await seal(folder, '', hash);
  return { digest: `sha256:${hash.digest('hex')}`, sizeBytes };
}

async function seal(folder: string, at: string, hash: Hash): Promise<number> {
  let bytes = 0;
  const entries = await readdir(join(folder, at), { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (let i = 0; i < entries.length; i += AT_ONCE) {
    const some = entries.slice(i, i + AT_ONCE);
    const begun = some.map((entry) => (entry.isFile() ? sealFile(join(folder, at, entry.name)) : null));
    const files = await Promise.all(begun);
    for (const [k, entry] of some.entries()) {
      const path = join(at, entry.name);
      const file = files[k];
      if (file) {
        hash.update(JSON.stringify(['file', path, file.isExecutable, file.size]));
        if (file.content) hash.update(file.content);
        else for await (const piece of createReadStream(join(folder, path))) hash.update(piece as Buffer);
        bytes += file.size;
      } else bytes += await sealOther(folder, path, { entry, hash });
    }
  }
  await chmod(join(folder, at), 0o555);
  return bytes;
}

/** Makes a file read-only, and reads it if it is small. */
async function sealFile(path: string): Promise<{ size: number; isExecutable: boolean; content: Buffer | null }> {
  const file = await openToRead(path);
  try {
    const { size, mode } = await file.stat();
    const isExecutable = (mode & 0o111) !== 0;
    await file.chmod(isExecutable ? 0o555 : 0o444);
    return { size, isExecutable, content: size > SMALL_BYTES ? null : await file.readFile() };
  } finally {
    await file.close();
  }
}

/** An installer may have left a file that not even its owner reads. */
async function openToRead(path: string): Promise<FileHandle> {
  try {
    return await open(path, READING);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    const { mode } = await lstat(path);
    await chmod(path, (mode & 0o777) | 0o400);
    return open(path, READING);
  }
}

async function sealOther(
  folder: string,
  path: string,
  { entry, hash }: { entry: Dirent; hash: Hash },
): Promise<number> {
  const whole = join(folder, path);
  if (entry.isSymbolicLink()) hash.update(JSON.stringify(['link', path, await readlink(whole)]));
  else if (entry.isDirectory()) {
    hash.update(JSON.stringify(['folder', path]));
    await chmod(whole, 0o700);
    return seal(folder, path, hash);
  } else await rm(whole);
  return 0;
}

/** Adds up the sizes of files in a folder, as far as it can be read: something else may be changing it. */
export async function measureFolder(folder: string): Promise<number> {
  let bytes = 0;
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const entries = await opendir(at).catch(() => null);
    if (entries === null) continue;
    for await (const entry of entries) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) open.push(path);
      else if (entry.isFile()) bytes += (await lstat(path).catch(() => null))?.size ?? 0;
    }
  }
  return bytes;
}

/** Removes a folder, also a read-only one. */
export async function removeFolder(folder: string): Promise<void> {
  await makeWritable(folder);
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

async function makeWritable(folder: string): Promise<void> {
  const stat = await lstat(folder).catch(() => null);
  if (!stat?.isDirectory()) return;
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
  }
}
