import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, lstat, opendir, readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';

interface Content {
  /** `sha256:` and 64 hexadecimal digits: of all paths, contents and links, and of which files are executable. */
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
  for (const name of (await readdir(join(folder, at))).sort()) {
    const path = join(at, name);
    const whole = join(folder, path);
    const stat = await lstat(whole);
    if (stat.isSymbolicLink()) hash.update(JSON.stringify(['link', path, await readlink(whole)]));
    else if (stat.isDirectory()) {
      hash.update(JSON.stringify(['folder', path]));
      await chmod(whole, 0o700);
      bytes += await seal(folder, path, hash);
    } else if (stat.isFile()) {
      const isExecutable = (stat.mode & 0o111) !== 0;
      hash.update(JSON.stringify(['file', path, isExecutable, stat.size]));
      await chmod(whole, isExecutable ? 0o555 : 0o444);
      for await (const piece of createReadStream(whole)) hash.update(piece as Buffer);
      bytes += stat.size;
    } else await rm(whole);
  }
  await chmod(join(folder, at), 0o555);
  return bytes;
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
