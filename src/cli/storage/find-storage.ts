import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Flags } from '../../config.ts';
import type { CliPieces, Storage } from '../shared/cli-pieces.ts';
import { nameOf } from './backup.ts';

/**
 * Returns where the data is that options and environment name. If they name none, and there is no database in this folder, it is
 * the data of the server that systemd runs on this machine. Says on stderr which one it took; throws if it is another user's.
 */
export async function findStorage(pieces: CliPieces, flags: Flags): Promise<Storage> {
  const storage = pieces.storage(flags);
  const hasData = storage.databaseUrl !== null || (await isThere(join(storage.dataDir, 'postgres')));
  const unit = hasData || flags.dataDir !== undefined ? null : await pieces.systemdUnit();
  if (unit === null) {
    if (hasData) pieces.note(`Backing up ${nameOf(storage)}.`);
    return storage;
  }
  const found = pieces.storage(flags, unit.env);
  pieces.note(`Backing up ${nameOf(found)}, which ${unit.path} names.`);
  for (const file of unit.unreadable) {
    pieces.note(
      `! You may not read ${file}, which may name another database: if it does, name that with --database-url.`,
    );
  }
  if (found.databaseUrl === null) await requireOwner(found.dataDir, unit.user ?? 'root');
  return found;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The embedded database lets in only the user that runs it. */
async function requireOwner(dataDir: string, user: string): Promise<void> {
  const owner = (await stat(dataDir).catch(() => null))?.uid;
  if (owner === undefined || owner === process.getuid?.()) return;
  throw new Error(
    `${dataDir} belongs to the user ${user}, who alone can open the database: run this with \`sudo -u ${user}\`, and name a ` +
      `file where ${user} may write, such as ${join(dataDir, 'podyard.backup')}`,
  );
}
