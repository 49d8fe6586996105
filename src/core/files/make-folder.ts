import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those above it, unless they are there. For paths that people name: Node's recursive `mkdir` never
 * returns where the kernel answers ENOENT although the folder above exists, as in /proc.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await makeOne(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path), mode);
    await makeOne(path, mode);
  }
}

async function makeOne(path: string, mode: number): Promise<void> {
  await mkdir(path, { mode }).catch(async (error: NodeJS.ErrnoException) => {
    const isThere = await stat(path).then((found) => found.isDirectory(), () => false); // biome-ignore format: one thing
    if (!isThere) throw error;
  });
}
