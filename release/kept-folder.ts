import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ROOT } from './release-facts.ts';

/** Where what takes long is kept between runs, below the checkout. */
export const CACHE = `${ROOT}/.cache`;

/**
 * Returns a folder in the cache that `make` has filled, now or in an earlier run with the same name and key. It appears whole
 * or not at all, whatever is killed. Throws what `make` throws.
 */
export async function keptFolder(name: string, key: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = `${CACHE}/${name}-${key}`;
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const unfinished = await mkdtemp(`${folder}.`);
  try {
    await make(unfinished);
    // Another run may have been faster; its folder is as good.
    await rename(unfinished, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    return folder;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Returns a short hash of the names and contents of files below ROOT. */
export async function hashOfFiles(files: string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(await readFile(`${ROOT}/${file}`))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}
