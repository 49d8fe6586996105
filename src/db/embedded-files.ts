import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { newId } from '../core/ids.ts';
import { type EmbeddedBinaries, findEmbeddedBinaries } from './embedded-binaries.ts';
import { isAlive } from './postmaster.ts';

/** Where an embedded server keeps its files, all of them without symbolic links. */
export interface EmbeddedPlace {
  binaries: EmbeddedBinaries;
  /** PostgreSQL's own data directory. */
  pgData: string;
  socketDir: string;
  logFile: string;
  isThrowaway: boolean;
}

export const SOCKET_NAME = '.s.PGSQL.5432';
/** The kernel's room for a socket's path (`sun_path`), less the ending NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/**
 * For a queue on a small machine: many short statements, one disk, little memory. The three that decide who can reach the
 * server are on the command line instead, where nothing overrides them.
 */
const SETTINGS: Record<string, string> = {
  max_connections: '250', // several processes may share it
  shared_buffers: '128MB',
  effective_cache_size: '512MB',
  random_page_cost: '1.1',
  jit: 'off', // compiling costs more than any statement here
  synchronous_commit: 'on',
  wal_level: 'minimal', // nobody replicates from it
  max_wal_senders: '0',
  wal_buffers: '16MB',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  autovacuum_naptime: '10s', // a queue leaves dead rows quickly
  autovacuum_vacuum_cost_limit: '2000',
  autovacuum_vacuum_cost_delay: '1ms',
  idle_in_transaction_session_timeout: '60s', // a forgotten transaction would stop all cleaning up
  log_error_verbosity: 'terse', // the longer form quotes values of rows
  log_parameter_max_length: '0',
  log_timezone: 'UTC',
  timezone: 'UTC',
};

/** A server whose data nobody will miss after a crash of the machine; a kill of the server still loses nothing. */
const THROWAWAY_SETTINGS: Record<string, string> = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  checkpoint_timeout: '1h',
};

/** Makes what the server needs, its data included, and checks what is there. Throws one sentence when it cannot be used. */
export async function prepareEmbeddedPlace(dataDirectory: string, isThrowaway: boolean): Promise<EmbeddedPlace> {
  const binaries = await findEmbeddedBinaries();
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(dataDirectory);
  const socketDir = await makeSocketDir(dataDir);
  const place: EmbeddedPlace = {
    binaries,
    pgData: join(dataDir, 'postgres'),
    socketDir,
    logFile: join(dataDir, 'postgres.log'),
    isThrowaway,
  };
  if (!(await hasData(place))) await initialise(place, dataDir);
  await writeSettings(place);
  return place;
}

/** Starts a program of PostgreSQL in a session of its own, so that it outlives us. */
export async function spawnPostgresProgram(
  program: string,
  args: string[],
  stdio: ['ignore' | 'pipe', number | 'pipe', number | 'pipe'],
): Promise<ChildProcess> {
  const [command, ...rest] = [...(await unprivileged()), program, ...args];
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
  return spawn(command!, rest, { detached: true, stdio, env, cwd: '/' });
}

/**
 * PostgreSQL refuses to run as root. A user namespace in which root's files belong to an ordinary user satisfies it and
 * needs neither a new account nor files that others can read. The user must have a name, which initdb looks up.
 */
async function unprivileged(): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const accounts = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(':')[2]);
  const uid = accounts.find((account) => account && account !== '0') ?? '65534';
  return ['unshare', '--user', `--map-user=${uid}`, `--map-group=${uid}`, '--'];
}

/** Beside the data if the path is short enough; else in a directory for temporary files, named after the data. */
async function makeSocketDir(dataDir: string): Promise<string> {
  const beside = join(dataDir, 'run');
  const fits = (directory: string) => Buffer.byteLength(join(directory, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const elsewhere = join(await realpath(tmpdir()), `podyard-${hash}`);
  const directory = [beside, elsewhere].find(fits);
  if (directory === undefined) {
    throw new Error(
      `The paths ${beside} and ${elsewhere} are too long for a unix socket; choose a shorter --data-dir.`,
    );
  }
  await mkdir(directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const stats = await lstat(directory);
  if (!stats.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o077) !== 0) {
    throw new Error(
      `${directory} is to hold the database's socket, but is not a directory that only this user can enter (mode 0700).`,
    );
  }
  return directory;
}

async function hasData({ pgData, binaries }: EmbeddedPlace): Promise<boolean> {
  const entries = await readdir(pgData).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new Error(`The database in ${pgData} cannot be opened: ${error.message}.`);
  });
  if (entries.length === 0) return false;
  const version = Number.parseInt(await readFile(join(pgData, 'PG_VERSION'), 'utf8').catch(() => ''), 10);
  if (Number.isNaN(version)) throw new Error(`${pgData} is not empty, and not a data directory of PostgreSQL either.`);
  if (version === binaries.majorVersion) return true;
  const remedy =
    version > binaries.majorVersion
      ? 'Start the version of Podyard that made it, or a later one.'
      : 'Make a backup with the version of Podyard that made it and restore it with this one.';
  throw new Error(
    `The database in ${pgData} was made by PostgreSQL ${version}, but this Podyard brings PostgreSQL ${binaries.majorVersion}. ${remedy}`,
  );
}

/** Builds the data under another name and renames it, so that a kill half-way leaves nothing that looks like data. */
async function initialise({ binaries, pgData, isThrowaway }: EmbeddedPlace, dataDir: string): Promise<void> {
  await removeAbandoned(dataDir);
  const temporary = `${pgData}.new-${process.pid}-${newId(8)}`;
  try {
    await runToEnd(binaries.initdb, [
      ...['-D', temporary, '-U', 'podyard', '--auth=trust', '--no-instructions'],
      ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...(isThrowaway ? ['--no-sync'] : []),
    ]);
    await runToEnd(binaries.postgres, ['--single', '-D', temporary, 'postgres'], 'create database podyard\n');
    await rename(temporary, pgData).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error; // another process was quicker: its data is as good
    });
    await syncDirectory(dataDir);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function runToEnd(program: string, args: string[], input = ''): Promise<void> {
  const child = await spawnPostgresProgram(program, args, ['pipe', 'pipe', 'pipe']);
  child.stdin!.on('error', () => {}); // it ended before it read: its status tells why
  child.stdin!.end(input);
  const failed = new Promise<never>((_, reject) => child.on('error', reject));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const output = Promise.all([text(child.stdout!), text(child.stderr!)]);
  const status = await Promise.race([ended, failed]).catch((error: Error) => explainFailure(error.message));
  if (status !== 0) explainFailure((await output).join('\n'));
}

/** In its namespace root's PostgreSQL may only what the owner of a file may. */
const ADVICE_ON_PATHS =
  ' Root runs PostgreSQL without the right to enter directories of other users: run Podyard as the user who owns them, or keep it and its --data-dir where root owns the path.';
const ADVICE_ON_NAMESPACES =
  ' Root needs user namespaces for it, which are not allowed here: run Podyard as an ordinary user, or name a PostgreSQL of your own with --database-url.';

/** Throws what PostgreSQL said, shortened to what matters. */
export function explainFailure(output: string): never {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const causes = lines.filter((line) => /unshare|FATAL|PANIC|error|denied|invalid|could not|cannot/i.test(line));
  const cause = (causes.length > 0 ? causes : lines).slice(-3).join(' | ') || 'it ended without a word';
  const isRoot = process.getuid?.() === 0;
  let advice = '';
  if (isRoot && cause.includes('Permission denied')) advice = ADVICE_ON_PATHS;
  else if (isRoot && cause.includes('unshare')) advice = ADVICE_ON_NAMESPACES;
  throw new Error(`The embedded PostgreSQL could not be started: ${cause}.${advice}`);
}

/** Half-made data of processes that were killed meanwhile. */
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

/** Written anew at each start, so that a new version brings its own; what an operator adds has a file of its own. */
async function writeSettings({ pgData, isThrowaway }: EmbeddedPlace): Promise<void> {
  const settings = { ...SETTINGS, ...(isThrowaway ? THROWAWAY_SETTINGS : {}) };
  const lines = [
    '# Podyard writes this file at each start. Your own settings belong into postgres.conf beside the data directory.',
    ...Object.entries(settings).map(([name, value]) => `${name} = '${value}'`),
    "include_if_exists = '../postgres.conf'",
  ];
  const path = join(pgData, 'postgresql.conf');
  const temporary = `${path}.new-${newId(8)}`;
  await writeFile(temporary, `${lines.join('\n')}\n`, { mode: 0o600 });
  await rename(temporary, path);
}
