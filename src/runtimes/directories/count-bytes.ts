import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** stat(2): whatever the file system's blocks are. */
const BLOCK_BYTES = 512;

/**
 * Returns the bytes that a directory takes on its file system, as `du -x` counts them: no link is followed, and a file with several
 * names counts once. What vanishes meanwhile is left out.
 */
export async function countBytes(path: string): Promise<number> {
  const { dev } = await lstat(path);
  const counted = new Set<number>();
  let blocks = 0;
  const ahead = [path];
  for (let at = ahead.pop(); at !== undefined; at = ahead.pop()) {
    const found = await orGone(lstat(at));
    if (!found || found.dev !== dev || isCounted(found)) continue;
    blocks += found.blocks;
    if (!found.isDirectory()) continue;
    for (const name of (await orGone(readdir(at))) ?? []) ahead.push(join(at, name));
  }
  return blocks * BLOCK_BYTES;

  function isCounted(file: Stats): boolean {
    if (file.nlink === 1 || file.isDirectory()) return false;
    if (counted.has(file.ino)) return true;
    counted.add(file.ino);
    return false;
  }
}

function orGone<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}
