import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ROOT, readReleaseFacts } from '../../release/release-facts.ts';
import { until } from '../e2e/api.ts';

const run = promisify(execFile);
const CACHE = `${ROOT}/.cache`;
/** The first build asks the registry for some hundred packages. */
const TIMEOUT_MS = 300_000;

/** A release of this checkout as it is, with its changes. */
export interface BuiltRelease {
  version: string;
  /** Where the artifacts are. */
  folder: string;
  /** The archive for this machine's processor. */
  archive: string;
  /** The archive unpacked: its top folder. Tests must not change it. */
  tree: string;
}

/**
 * Builds the parts of a release for this machine's processor: the archive alone unless told otherwise. Built once for the same
 * sources, by whichever test file asks first; the others wait for it.
 */
export async function builtRelease(parts = ['archive']): Promise<BuiltRelease> {
  const { version, files } = readReleaseFacts();
  const key = await hashOf(files.filter((file) => !/^(test|bench)\/|\.test\.tsx?$/.test(file)));
  const home = `${CACHE}/release-test-${key}`;
  await mkdir(home, { recursive: true });
  for (const part of parts) await once(`${home}/${part}`, (folder) => buildPart(part, folder));
  const name = `podyard-${version}-linux-${process.arch}`;
  const folder = `${home}/${parts[0]}`;
  const archive = `${home}/archive/${name}.tar.gz`;
  const unpacked = `${home}/unpacked`;
  if (parts.includes('archive')) {
    await once(unpacked, async (unfinished) => void (await run('tar', ['-xzf', archive, '-C', unfinished])));
  }
  return { version, folder, archive, tree: `${unpacked}/${name}` };
}

async function buildPart(part: string, folder: string): Promise<void> {
  const args = ['release/main.ts', '--only', part, '--arch', process.arch, '--out', folder];
  await run(process.execPath, args, { cwd: ROOT, timeout: TIMEOUT_MS });
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
