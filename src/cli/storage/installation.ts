/** Where an installation keeps its data, and how commands get at it. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Flags } from '../../config/settings.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { explainDataFault } from '../../db/explain-data-fault.ts';
import type { Db } from '../../db/pool.ts';
import type { CliPieces, Storage } from '../shared/cli-pieces.ts';
import type { SystemdUnit } from './systemd-unit.ts';

interface Installation {
  storage: Storage;
  /** The variables of the systemd unit that runs it, which count less than the environment's. */
  more: Readonly<Record<string, string>>;
}

/**
 * Returns the installation that options and environment name. If they name none, and there is no database in this folder, it is
 * that of the server that systemd runs on this machine, which stderr says. Throws if its data is another user's.
 */
export async function findInstallation(pieces: CliPieces, flags: Flags, doing = 'Using'): Promise<Installation> {
  const storage = pieces.storage(flags);
  const unit = (await hasData(storage)) || flags.dataDir !== undefined ? null : await pieces.systemdUnit();
  if (unit === null) return { storage, more: {} };
  const found = pieces.storage(flags, unit.env);
  noteUnit(pieces, unit, `${doing} ${nameOf(found)}`);
  if (found.databaseUrl === null) await requireOwner(found.dataDir, unit.user ?? 'root');
  return { storage: found, more: unit.env };
}

/** Returns the installation to back up, and says on stderr which one it is. */
export async function findStorage(pieces: CliPieces, flags: Flags): Promise<Storage> {
  const { storage, more } = await findInstallation(pieces, flags, 'Backing up');
  if (Object.keys(more).length === 0 && (await hasData(storage))) pieces.note(`Backing up ${nameOf(storage)}.`);
  return storage;
}

/** Returns the variables of the systemd unit, for a check that opens no data; none where options or environment name an installation. */
export async function unitVariables(pieces: CliPieces, flags: Flags): Promise<Installation['more']> {
  if (flags.dataDir !== undefined || (await hasData(pieces.storage(flags)))) return {};
  const unit = await pieces.systemdUnit();
  if (unit === null) return {};
  noteUnit(pieces, unit, 'Checking the server');
  return unit.env;
}

async function hasData({ databaseUrl, dataDir }: Storage): Promise<boolean> {
  return databaseUrl !== null || (await ownerOf(join(dataDir, 'postgres'))) !== undefined;
}

function noteUnit({ note }: CliPieces, { path, unreadable }: SystemdUnit, what: string): void {
  note(`${what}, which ${path} names.`);
  for (const file of unreadable) {
    note(`! You may not read ${file}, which may name another database: if it does, name that with --database-url.`);
  }
}

/** The embedded database lets in only the user that runs it; one that does not exist yet belongs to the owner of its folder. */
async function requireOwner(dataDir: string, user: string): Promise<void> {
  const owner = (await ownerOf(dataDir)) ?? (await ownerOf(dirname(dataDir)));
  if (owner === undefined || owner === process.getuid?.()) return;
  throw new Error(
    `${dataDir} belongs to the user ${user}, who alone can open the database: run this with \`sudo -u ${user}\`, and name ` +
      `files where ${user} may read and write, such as ${join(dataDir, 'podyard.backup')}`,
  );
}

async function ownerOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.uid;
}

/** Runs `work` on the configured database. Throws if it does not exist, unless it may be created. */
export async function withDatabaseOf<T>(
  storage: Storage,
  work: (databaseUrl: string) => Promise<T>,
  options: { mayCreate?: boolean } = {},
): Promise<T> {
  if (storage.databaseUrl !== null) {
    return work(storage.databaseUrl).catch(async (error) => {
      throw await explainDataFault(error, storage);
    });
  }
  const directory = join(storage.dataDir, 'postgres');
  if (!options.mayCreate && !(await stat(directory).catch(() => null))) {
    throw new Error(`there is no database in ${storage.dataDir}: name the server's --data-dir or --database-url`);
  }
  return storage.withEmbedded(work).catch(async (error) => {
    throw await explainDataFault(error, storage);
  });
}

/** Describes a database for people, without credentials. */
export function nameOf({ databaseUrl, dataDir }: Pick<Storage, 'databaseUrl' | 'dataDir'>): string {
  return databaseUrl === null ? `the embedded database in ${dataDir}` : describeUrl(databaseUrl);
}

function describeUrl(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return 'the database of --database-url';
  const { host, pathname, searchParams } = new URL(databaseUrl);
  return `postgresql://${host || searchParams.get('host') || ''}${pathname}`;
}

/**
 * Throws if a server runs on this database, and keeps others from starting: they wait for the migration lock first. A
 * running server is recognised by its bus connection or the leader lock. Both locks last as long as the connection.
 */
export async function holdWithoutServers(db: Db, name: string): Promise<void> {
  await db.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
  const leads = await db.query<{ won: boolean }>('select pg_try_advisory_lock($1) as won', [ADVISORY_LOCKS.leader]);
  const others = await db.query<{ count: number }>(
    `select count(*) as count from pg_stat_activity where datname = current_database() and application_name = 'podyard bus'`,
  );
  if (leads.rows[0]!.won && Number(others.rows[0]!.count) === 0) return;
  throw new Error(`a server runs on ${name}: stop it first (its workers keep running their jobs for a while)`);
}
