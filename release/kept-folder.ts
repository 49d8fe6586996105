import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ROOT } from './release-facts.ts';

/** Where what takes long is kept between runs, below the checkout. */
export const CACHE = `${ROOT}/.cache`;

/** Folders of one name that stay, whatever their age: this checkout's, and the one before a change. */
const KEPT = 2;
/** Another run may be using a folder that was used within this time. */
const IN_USE_MS = 3_600_000;

/**
 * Returns a folder in the cache that `make` has filled, now or in an earlier run with the same name and key. It appears whole
 * or not at all, whatever is killed. Former folders of the name are removed. Throws what `make` throws.
 */
export async function keptFolder(name: string, key: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = `${CACHE}/${name}-${key}`;
  if (!existsSync(folder)) await makeWhole(folder, make);
  await removeFormer(CACHE, name, key);
  return folder;
}

async function makeWhole(folder: string, make: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const unfinished = await mkdtemp(`${folder}.`);
  try {
    await make(unfinished);
    // Another run may have been faster; its folder is as good.
    await rename(unfinished, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/**
 * Records that the folder of a name and key in `cache` is used now, and removes others of that name: all but the two that were used
 * last and those of the last hour. What killed runs have left unfinished is removed as well.
 */
export async function removeFormer(cache: string, name: string, key: string): Promise<void> {
  const now = Date.now();
  await utimes(`${cache}/${name}-${key}`, new Date(now), new Date(now));
  const isOfName = (entry: string) =>
    entry.startsWith(`${name}-`) && /^[0-9a-f-]+(\.\w{6})?$/.test(entry.slice(name.length + 1));
  const entries = await Promise.all(
    (await readdir(cache)).filter(isOfName).map(async (entry) => {
      const known = await stat(`${cache}/${entry}`).catch(() => null); // another run may have removed it
      return { entry, usedAt: known?.mtimeMs ?? now };
    }),
  );
  entries.sort((a, b) => b.usedAt - a.usedAt);
  const isUnfinished = ({ entry }: { entry: string }) => entry.includes('.', name.length);
  const former = [...entries.filter((one) => !isUnfinished(one)).slice(KEPT), ...entries.filter(isUnfinished)];
  for (const { entry, usedAt } of former) {
    if (usedAt < now - IN_USE_MS) await rm(`${cache}/${entry}`, { recursive: true, force: true });
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
