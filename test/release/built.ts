import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { CACHE, removeFormer } from '../../release/kept-folder.ts';
import type { Architecture } from '../../release/parts/production-packages.ts';
import { ROOT, readReleaseFacts } from '../../release/release-facts.ts';
import { until } from '../e2e/api.ts';

const run = promisify(execFile);
const BUILDS = 'release-test';
/** The first build asks the registry for some hundred packages. */
const TIMEOUT_MS = 300_000;

/** Parts that are built beside the archive, in one go. */
export const OTHER_PARTS = ['deb', 'image', 'npm', 'cli', 'chart', 'sbom', 'notes'];

/** The archive of this checkout as it is, with its changes, for one processor. */
export interface BuiltRelease {
  version: string;
  archive: string;
  /** The archive unpacked: its top folder. Tests must not change it. */
  tree: string;
}

/** Builds the archive, once for the same sources, by whichever test file asks first; the others wait for it. */
export async function builtRelease(architecture = process.arch as Architecture): Promise<BuiltRelease> {
  const { version, home: base } = await homeOfBuild();
  const home = architecture === process.arch ? base : `${base}/${architecture}`;
  await mkdir(home, { recursive: true });
  const name = `podyard-${version}-linux-${architecture}`;
  const archive = `${home}/archive/${name}.tar.gz`;
  await once(`${home}/archive`, (folder) => buildParts(['archive'], folder, { architecture }));
  await once(`${home}/unpacked`, async (folder) => void (await run('tar', ['-xzf', archive, '-C', folder])));
  return { version, archive, tree: `${home}/unpacked/${name}` };
}

/** Builds the other artifacts for this machine's processor in the same way, and returns the folder that they are in. */
export async function builtArtifacts(): Promise<string> {
  const { home } = await homeOfBuild();
  await once(`${home}/artifacts`, (folder) => buildParts(OTHER_PARTS, folder));
  return `${home}/artifacts`;
}

/** Builds parts into a folder, by default for this machine's processor. With `isFresh`, nothing that was built before is used. */
export async function buildParts(
  parts: string[],
  folder: string,
  { architecture = process.arch, isFresh = false, env = {}, umask = '022' } = {},
): Promise<void> {
  const args = ['release/main.ts', '--only', parts.join(','), '--arch', architecture, '--out', folder];
  if (isFresh) args.push('--fresh');
  const command = ['-c', `umask ${umask}; exec "$@"`, 'sh', process.execPath, ...args];
  const all = { ...process.env, PODYARD_RELEASE_GZIP_LEVEL: '1', ...env };
  await run('sh', command, { cwd: ROOT, env: all, timeout: TIMEOUT_MS });
}

async function homeOfBuild(): Promise<{ version: string; home: string }> {
  const { version, commit, files } = readReleaseFacts();
  const hash = await hashOf(files.filter((file) => !/^(test|bench)\/|\.test\.tsx?$/.test(file)));
  const key = `${commit.slice(0, 12)}-${hash}`;
  const home = `${CACHE}/${BUILDS}-${key}`;
  await mkdir(home, { recursive: true });
  await removeFormer(CACHE, BUILDS, key);
  return { version, home };
}

/**
 * Makes a folder that is there whole or not at all. A second process waits while the first is at it, and takes over if it dies.
 */
async function once(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const lock = `${folder}.lock`;
  await until(`the release's ${folder}`, async () => existsSync(folder) || (await hasLocked(lock)), TIMEOUT_MS);
  if (existsSync(folder)) return;
  const unfinished = await mkdtemp(`${folder}.`);
  try {
    await chmod(unfinished, 0o755); // other users run what is in it
    await make(unfinished);
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
    await rm(lock, { force: true });
  }
}

async function hasLocked(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch {
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
    if (owner > 0 && !existsSync(`/proc/${owner}`)) await rm(lock, { force: true });
    return false;
  }
}

async function hashOf(files: string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(await readFile(`${ROOT}/${file}`));
  return hash.digest('hex').slice(0, 16);
}
