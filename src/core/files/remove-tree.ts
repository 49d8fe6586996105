import { randomUUID } from 'node:crypto';
import type { Dir } from 'node:fs';
import { opendir, rename, rmdir, unlink } from 'node:fs/promises';

/**
 * Levels that are gone down at most, each of which has an open directory: what is deeper is moved up first. A name has 255 bytes at most, so
 * that no path is too long for a system call (4,096 bytes).
 */
const MAX_LEVELS = 8;
const SEPARATOR = Buffer.from('/');

/**
 * Removes a directory and all that is in it; does nothing if it does not exist. Unlike `rm` of node:fs it removes directories however deep they
 * are, and takes no more memory and no more threads for millions of files. Others may remove it at the same time, but nobody may write in it.
 */
export async function removeTree(path: string): Promise<void> {
  const top = Buffer.from(path);
  while (await empty(top, top, MAX_LEVELS)); // what was moved to the top, and what a listing left out while it changed
}

/** Removes a directory's entries, then itself. Returns whether it is still there. */
async function empty(directory: Buffer, top: Buffer, levels: number): Promise<boolean> {
  const entries = await opendir(directory, { encoding: 'buffer' as BufferEncoding }).catch(orGone<Dir>);
  if (!entries) return false;
  for await (const entry of entries) {
    const path = Buffer.concat([directory, SEPARATOR, entry.name as unknown as Buffer]); // names need not be UTF-8
    if (!entry.isDirectory()) await unlink(path).catch(orGone);
    else if (levels > 0) while (await empty(path, top, levels - 1));
    else await rename(path, Buffer.concat([top, SEPARATOR, Buffer.from(randomUUID())])).catch(orGone);
  }
  return rmdir(directory).then(
    () => false,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') return true;
      orGone(error);
      return false;
    },
  );
}

function orGone<T>(error: NodeJS.ErrnoException): T | undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
