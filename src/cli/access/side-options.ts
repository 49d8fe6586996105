import type { Command } from 'commander';
import type { Flags } from '../../config.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addDatabaseOptions } from '../shared/command-options.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import type { AccessSide } from './access-side.ts';

export type SideOptions = Common & Omit<Flags, 'restRevision'>;

/** What `--help` of every such command ends with. */
const WHERE = `
Works on the server that you are signed in to: the current context, or PODYARD_URL and PODYARD_API_KEY. With --data-dir or
--database-url, and where you are not signed in, it works on the database of a server on this machine, which needs no key.`;

/** Adds what chooses between a server and a database. */
export function addSideOptions(command: Command): Command {
  return addDatabaseOptions(addCommon(command)).addHelpText('after', WHERE);
}

/** Runs `work` on the server or the database that options and environment name. */
export async function withSide<T>(
  pieces: CliPieces,
  options: SideOptions,
  work: (side: AccessSide) => Promise<T>,
): Promise<T> {
  if (await isOnServer(pieces, options)) {
    const [client, { ServerSide }] = await Promise.all([connect(pieces, options), import('./server-side.ts')]);
    return work(new ServerSide(client));
  }
  const { DatabaseSide } = await import('./database-side.ts');
  const { json: _, context: __, ...flags } = options;
  return pieces.withDatabase(flags, (context) =>
    work(new DatabaseSide(context, pieces.allowsInsecureProcesses(flags))),
  );
}

async function isOnServer({ terminal }: CliPieces, options: SideOptions): Promise<boolean> {
  const isDatabase = options.dataDir !== undefined || options.databaseUrl !== undefined;
  if (isDatabase && options.context !== undefined) {
    throw new UsageError('--context names a server, --data-dir and --database-url a database: use one of them');
  }
  if (isDatabase || options.context !== undefined) return !isDatabase;
  if (terminal.env.PODYARD_URL || terminal.env.PODYARD_API_KEY) return true;
  const { readContexts } = await import('../account/contexts.ts');
  return (await readContexts(terminal)).current !== null;
}
