import type { BigIntStats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Folder } from '../../../runtimes/directories/folder.ts';
import { byBytes, fromBytes, isText, LATIN1 } from './key-bytes.ts';
import type { NameCache } from './name-cache.ts';
import { orGone } from './or-gone.ts';

/** A directory without subdirectories, whose few files were looked at together with their names. */
export interface Leaf {
  /** In the order of their bytes, a character for each. */
  names: readonly string[];
  /** By the order of `names`; null: it went away since. */
  stats: readonly (BigIntStats | null)[];
  own: BigIntStats;
}

/** With more, the names are read apart from the looks. */
const MAX_FILES = 64;

/**
 * Opens a directory in another one, and reads it if it is a leaf: five calls instead of twelve, which a listing of many such directories
 * consists of. Returns it open otherwise, and null if it is gone. `name`: a character for each byte.
 */
export async function openChild(parent: Folder, name: string, cache: NameCache): Promise<Folder | Leaf | null> {
  const child = await parent.enter(fromBytes(name)).catch(orGone);
  if (child === null) return null;
  let leaf: Leaf | null = null;
  try {
    leaf = await readLeaf(child, cache);
  } catch (error) {
    await child.close();
    throw error;
  }
  if (leaf === null) return child;
  await child.close();
  return leaf;
}

/** Null: it is larger, or has directories. */
async function readLeaf(folder: Folder, cache: NameCache): Promise<Leaf | null> {
  const own = await folder.handle.stat({ bigint: true });
  if (!(await cache.isSmall(folder, own))) return null;
  const entries = await readdir(folder.path, { withFileTypes: true, encoding: LATIN1 });
  if (entries.length > MAX_FILES || entries.some((entry) => entry.isDirectory())) return null;
  const names = entries.flatMap((entry) => (entry.isFile() && isText(entry.name) ? [entry.name] : [])).sort(byBytes);
  const look = async (name: string) => {
    const stats = await folder.look(fromBytes(name)).catch(orGone);
    return stats?.isFile() ? stats : null;
  };
  return { names, stats: await Promise.all(names.map(look)), own };
}
