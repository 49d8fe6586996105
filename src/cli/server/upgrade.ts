import { execFile, spawn } from 'node:child_process';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import { UsageError } from '../../core/usage-error.ts';
import { compareVersions, newestArchive, openPlace, SUMS } from '../../outbound/release-place.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';

const SIGNATURE = 'SHA256SUMS.sig';
/** The tree of the unpacked archive, when this is the program in it. */
const OWN_TREE = resolve(fileURLToPath(new URL('..', OWN_PACKAGE)));

interface UpgradeOptions {
  /** An archive, or a folder with archives; a path or a URL. */
  from: string;
  /** The public key that must have signed; null: the one that the installer has kept, if any. */
  key: string | null;
  /** Says what there is, and changes nothing. */
  check: boolean;
  /** The tree that runs now. */
  tree?: string;
}

/** Adds `upgrade`. It looks only where it is pointed to. */
export function addUpgrade(program: Command, pieces: CliPieces): void {
  program
    .command('upgrade')
    .description(
      'upgrade this installation to the newest version in a place that you name, as install.sh --upgrade does',
    )
    .option('--from <place>', 'an archive, or a directory or URL that has archives and SHA256SUMS')
    .option('--key <file>', 'the public key that must have signed SHA256SUMS')
    .option('--check', 'only say which version is there')
    .addHelpText(
      'after',
      '\nPODYARD_UPGRADE_FROM names the place, too. There is no default: Podyard never looks elsewhere.',
    )
    .action(async ({ from, key, check }: { from?: string; key?: string; check?: boolean }) => {
      const place = from ?? pieces.terminal.env.PODYARD_UPGRADE_FROM;
      if (!place) {
        throw new UsageError('name the archive, or the directory or URL that has it: --from or PODYARD_UPGRADE_FROM');
      }
      const status = await upgrade({ from: place, key: key ?? null, check: check === true }, pieces);
      if (status !== 0) throw new Error('the upgrade failed: the lines above say why, and what runs now');
    });
}

/**
 * Checks the newest archive of a place against SHA256SUMS and its signature, and runs the installer in it. Resolves with the
 * installer's status. Throws if this Podyard was installed otherwise, or if anything is not as it should be; then nothing has
 * changed.
 */
export async function upgrade(
  { from, key, check, tree = OWN_TREE }: UpgradeOptions,
  { print, note }: Pick<CliPieces, 'print' | 'note'>,
): Promise<number> {
  const installed = await readInstalledVersion(tree);
  const place = openPlace(from);
  const folder = await mkdtemp(join(tmpdir(), 'podyard-upgrade-'));
  try {
    const sums = await place.read(SUMS);
    const signature = await place.read(SIGNATURE).catch(() => null);
    await checkSignature(sums, signature, await findKey(key, tree), note);
    const archive = newestArchive(sums.toString(), place.archive);
    const order = compareVersions(archive.version, installed);
    if (order <= 0 && (check || order === 0)) {
      print(`Podyard ${installed} is installed, and the newest in ${from} is ${archive.version}`);
      return 0;
    }
    if (order < 0) throw new Error(`${archive.version} is older than ${installed}, which is installed`);
    if (check) {
      print(`Podyard ${archive.version} is in ${from}; ${installed} is installed`);
      return 0;
    }
    await requireOwner(tree);
    await writeFile(join(folder, SUMS), sums);
    if (signature !== null) await writeFile(join(folder, SIGNATURE), signature); // the installer checks it, too
    await place.copy(archive.name, join(folder, archive.name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOSPC') throw error;
      throw new Error(`${tmpdir()} has no room for ${archive.name}: free some, or name another folder as TMPDIR`);
    });
    await checkSum(join(folder, archive.name), archive.sum);
    return await runInstaller(folder, archive.name, tree, key);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readInstalledVersion(tree: string): Promise<string> {
  const text = await readFile(join(tree, 'VERSION'), 'utf8').catch(() => null);
  // The Debian package has no installer in its tree.
  if (text !== null && existsSync(join(tree, 'install.sh'))) return text.split('\n')[0]!;
  throw new Error(
    'this Podyard was not installed by install.sh: upgrade it the way it was installed (docs/guide/upgrade.md)',
  );
}

/** Returns the key that was given, or else the one with which this installation was made. */
async function findKey(given: string | null, tree: string): Promise<string | null> {
  const versions = dirname(tree);
  const base = basename(versions) === 'versions' ? dirname(versions) : versions; // with --user
  const file = given ?? join(base, 'podyard.pub');
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    if (given !== null) throw new Error(`there is no key ${given}`);
    return null;
  });
}

async function checkSignature(
  sums: Buffer,
  signature: Buffer | null,
  key: string | null,
  note: (text: string) => void,
): Promise<void> {
  if (key === null) return note('! The signature is not checked: no --key is given, and none was at the installation.');
  if (signature === null) throw new Error(`${SUMS} is not signed: ${SIGNATURE} is missing, and a key is required`);
  if (!verify(null, sums, createPublicKey(key), signature)) {
    throw new Error(`${SUMS} is not signed by that key: do not use what is there`);
  }
}

async function requireOwner(tree: string): Promise<void> {
  const { uid } = await stat(tree);
  if (uid !== process.getuid?.()) {
    throw new Error(
      `${tree} belongs to ${uid === 0 ? 'root: run this with sudo' : 'another user: run this as that user'}`,
    );
  }
}

async function checkSum(file: string, wanted: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  if (hash.digest('hex') !== wanted)
    throw new Error(`${basename(file)} is not what ${SUMS} says: bring it there again`);
}

/** Runs the installer of the new version, which has its own rules, on what was checked. A key that was given replaces the kept one. */
async function runInstaller(folder: string, archive: string, tree: string, key: string | null): Promise<number> {
  const top = archive.slice(0, -'.tar.gz'.length);
  await promisify(execFile)('tar', [
    '-xzf',
    join(folder, archive),
    '-C',
    folder,
    '--strip-components=1',
    `${top}/install.sh`,
  ]);
  const isUsers = basename(dirname(tree)) === 'versions';
  const args = ['--upgrade', '--yes', '--from', join(folder, archive), ...(isUsers ? ['--user'] : [])];
  if (key !== null) args.push('--key', resolve(key));
  const child = spawn('sh', [join(folder, 'install.sh'), ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
