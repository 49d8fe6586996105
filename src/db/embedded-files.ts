import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileReason } from '../core/files/file-reason.ts';
import { newId } from '../core/ids.ts';
import { type EmbeddedBinaries, findEmbeddedBinaries, linkLibraries } from './embedded-binaries.ts';
import { makeDataDir } from './make-data-dir.ts';
import { isAlive } from './postmaster.ts';

/** Where an embedded server keeps its files, as real paths. */
export interface EmbeddedPlace {
  binaries: EmbeddedBinaries;
  /** Links to libraries, for the programs of a package whose install scripts did not run and whose folder this user cannot write. */
  libraries: string | null;
  /** PostgreSQL's own data directory. */
  pgData: string;
  socketDir: string;
  logFile: string;
  isThrowaway: boolean;
}

export const SOCKET_NAME = '.s.PGSQL.5432';
/** The kernel's limit for a socket's path (`sun_path`), without the final NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/**
 * Tuned for a queue on a small machine: many short statements, one disk, little memory. The settings that decide who can
 * reach the server are on the command line instead, where nothing overrides them.
 */
const SETTINGS: Record<string, string> = {
  max_connections: '250', // several Podyard processes may share the server
  shared_buffers: '128MB',
  effective_cache_size: '512MB',
  random_page_cost: '1.1',
  jit: 'off', // compiling costs more than any statement here
  synchronous_commit: 'on',
  wal_level: 'minimal', // no replication
  max_wal_senders: '0',
  wal_buffers: '16MB',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  autovacuum_naptime: '10s', // a queue produces dead rows quickly
  autovacuum_vacuum_cost_limit: '2000',
  autovacuum_vacuum_cost_delay: '1ms',
  idle_in_transaction_session_timeout: '60s', // a forgotten transaction would block vacuum
  log_error_verbosity: 'terse', // the default form quotes row values
  log_parameter_max_length: '0',
  log_timezone: 'UTC',
  timezone: 'UTC',
};

/** For data that may be lost when the machine crashes; killing the server still loses nothing. */
const THROWAWAY_SETTINGS: Record<string, string> = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  checkpoint_timeout: '1h',
};

/**
 * Creates the server's directories and data, or checks the existing ones. `onInitialise`: called when the program that makes
 * new data runs, which takes a second or more. Throws an error to print if they are unusable.
 */
export async function prepareEmbeddedPlace(
  dataDirectory: string,
  isThrowaway: boolean,
  onInitialise: () => void,
): Promise<EmbeddedPlace> {
  const binaries = await findEmbeddedBinaries();
  await makeDataDir(dataDirectory);
  const dataDir = await realpath(dataDirectory);
  const socketDir = await makeSocketDir(dataDir);
  const place: EmbeddedPlace = {
    binaries,
    libraries: await linkLibraries(binaries.root, join(dataDir, 'lib')),
    pgData: join(dataDir, 'postgres'),
    socketDir,
    logFile: join(dataDir, 'postgres.log'),
    isThrowaway,
  };
  if (!(await hasData(place))) await initialise(place, dataDir, onInitialise);
  await writeSettings(place);
  return place;
}

const LIBRARY_VARIABLE = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';

/** Starts a PostgreSQL program in its own session, so that it outlives this process. */
export async function spawnPostgresProgram(
  { libraries }: Pick<EmbeddedPlace, 'libraries'>,
  program: string,
  args: string[],
  stdio: ['ignore' | 'pipe', number | 'pipe', number | 'pipe'],
): Promise<ChildProcess> {
  const [command, ...rest] = [...(await unprivileged()), program, ...args];
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C',
    ...(libraries !== null && { [LIBRARY_VARIABLE]: libraries }),
  };
  return spawn(command!, rest, { detached: true, stdio, env, cwd: '/' });
}

/**
 * Returns the command that runs PostgreSQL without root's privileges, which it insists on. In a user namespace root's
 * files belong to an ordinary user, so neither a new account nor wider file permissions are needed. The user must have a
 * name, which initdb looks up.
 */
async function unprivileged(): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const accounts = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(':')[2]);
  const uid = accounts.find((account) => account && account !== '0') ?? '65534';
  return ['unshare', '--user', `--map-user=${uid}`, `--map-group=${uid}`, '--'];
}

/** Creates the socket's directory: beside the data if the path is short enough, else in the temporary directory. */
async function makeSocketDir(dataDir: string): Promise<string> {
  const beside = join(dataDir, 'run');
  const fits = (directory: string) => Buffer.byteLength(join(directory, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const elsewhere = join(await realpath(tmpdir()), `podyard-${hash}`);
  const directory = [beside, elsewhere].find(fits);
  if (directory === undefined) {
    throw new Error(
      `The paths ${beside} and ${elsewhere} are too long for a Unix socket; choose a shorter --data-dir.`,
    );
  }
  await mkdir(directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const stats = await lstat(directory);
  if (!stats.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o077) !== 0) {
    throw new Error(
      `${directory} cannot hold the database's socket: it must be a directory of this user with mode 0700.`,
    );
  }
  return directory;
}

async function hasData({ pgData, binaries }: EmbeddedPlace): Promise<boolean> {
  const entries = await readdir(pgData).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new Error(`The database in ${pgData} cannot be opened: ${fileReason(error)}.`);
  });
  if (entries.length === 0) return false;
  const version = Number.parseInt(await readFile(join(pgData, 'PG_VERSION'), 'utf8').catch(() => ''), 10);
  if (Number.isNaN(version)) throw new Error(`${pgData} is neither empty nor a PostgreSQL data directory.`);
  if (version === binaries.majorVersion) return true;
  const remedy =
    version > binaries.majorVersion
      ? 'Start the version of Podyard that created it, or a later one.'
      : 'Back it up with the version of Podyard that created it, and restore the backup with this one.';
  throw new Error(
    `The database in ${pgData} was created by PostgreSQL ${version}, but this Podyard includes PostgreSQL ${binaries.majorVersion}. ${remedy}`,
  );
}

/** Creates the data under another name, then renames it, so that a kill half-way leaves nothing that looks like data. */
async function initialise(place: EmbeddedPlace, dataDir: string, onInitialise: () => void): Promise<void> {
  const { binaries, pgData, isThrowaway } = place;
  await removeAbandoned(dataDir);
  const temporary = `${pgData}.new-${process.pid}-${newId(8)}`;
  try {
    const options = [
      ...['-D', temporary, '-U', 'podyard', '--auth=trust', '--no-instructions'],
      ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...(isThrowaway ? ['--no-sync'] : []),
    ];
    await runToEnd(place, binaries.initdb, options, { onStart: onInitialise });
    // Renamed, because creating another one would copy all its files.
    const statement = 'alter database postgres rename to podyard\n';
    await runToEnd(place, binaries.postgres, ['--single', '-D', temporary, 'template1'], { input: statement });
    // Autovacuum visits databases with statistics, every ten seconds each: not those that nothing ever uses.
    await rm(join(temporary, 'pg_stat/pgstat.stat'), { force: true });
    await rename(temporary, pgData).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error; // else another process was faster: use its data
    });
    await syncDirectory(dataDir);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function runToEnd(
  place: EmbeddedPlace,
  program: string,
  args: string[],
  { input = '', onStart = () => {} }: { input?: string; onStart?: () => void },
): Promise<void> {
  const child = await spawnPostgresProgram(place, program, args, ['pipe', 'pipe', 'pipe']);
  child.once('spawn', onStart);
  child.stdin!.on('error', () => {}); // it exited before reading: its status says why
  child.stdin!.end(input);
  const failed = new Promise<never>((_, reject) => child.on('error', reject));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const output = Promise.all([text(child.stdout!), text(child.stderr!)]);
  const status = await Promise.race([ended, failed]).catch((error: Error) => explainFailure(error.message));
  if (status !== 0) explainFailure((await output).join('\n'));
}

/** In its namespace, root's PostgreSQL has only the rights of a file's owner. */
const ADVICE_ON_PATHS =
  ' Run by root, PostgreSQL cannot enter directories of other users: run Podyard as their owner, or use a --data-dir whose path root owns.';
const ADVICE_ON_NAMESPACES =
  ' Run by root, PostgreSQL needs user namespaces, which are not allowed here: run Podyard as an ordinary user, or use your own PostgreSQL with --database-url.';

/** Throws the relevant lines of PostgreSQL's output, with advice where there is any. */
export function explainFailure(output: string): never {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const causes = lines.filter((line) => /unshare|FATAL|PANIC|error|denied|invalid|could not|cannot/i.test(line));
  const cause = (causes.length > 0 ? causes : lines).slice(-3).join(' | ') || 'it exited without output';
  const isRoot = process.getuid?.() === 0;
  let advice = '';
  if (isRoot && cause.includes('Permission denied')) advice = ADVICE_ON_PATHS;
  else if (isRoot && cause.includes('unshare')) advice = ADVICE_ON_NAMESPACES;
  throw new Error(`The embedded PostgreSQL could not be started: ${cause}.${advice}`);
}

/** Removes the unfinished data of processes that were killed. */
async function removeAbandoned(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const pid = /^postgres\.new-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await rm(join(dataDir, name), { recursive: true, force: true });
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  await directory.sync().finally(() => directory.close());
}

/** Rewrites the settings at each start, so that a new version applies its own; an operator's go into their own file. */
async function writeSettings({ pgData, isThrowaway }: EmbeddedPlace): Promise<void> {
  const settings = { ...SETTINGS, ...(isThrowaway ? THROWAWAY_SETTINGS : {}) };
  const lines = [
    '# Podyard rewrites this file at each start. Put your own settings into postgres.conf beside the data directory.',
    ...Object.entries(settings).map(([name, value]) => `${name} = '${value}'`),
    "include_if_exists = '../postgres.conf'",
  ];
  const path = join(pgData, 'postgresql.conf');
  const temporary = `${path}.new-${newId(8)}`;
  await writeFile(temporary, `${lines.join('\n')}\n`, { mode: 0o600 });
  await rename(temporary, path);
}
