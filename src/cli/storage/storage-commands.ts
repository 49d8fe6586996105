import type { Command } from 'commander';
import type { Flags } from '../../config/settings.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addDatabaseOptions, parseCount } from '../shared/options.ts';
import type { StopWorkersOptions } from './stop-workers.ts';

/** Adds `backup`, `restore`, `move` and `stop-workers`. */
export function addStorageCommands(program: Command, pieces: CliPieces): void {
  addBackup(program, pieces);
  addRestore(program, pieces);
  addMove(program, pieces);
  addStopWorkers(program, pieces);
}

const installation = () => import('./installation.ts');

const WHERE = `
Without options and variables, it takes the database in ./.podyard; if there is none, that of the systemd unit podyard.service.`;

function addBackup(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('backup'))
    .description('write the whole database to a file, while servers run')
    .argument('<file>', 'file to write; it must not exist')
    .addHelpText('after', WHERE)
    .option('--with-master-key', 'include the master key, which decrypts the secrets: keep the file as safe', false)
    .action(async (file: string, { withMasterKey, ...flags }: Flags & { withMasterKey: boolean }) => {
      const [{ backUp }, { findStorage }] = await Promise.all([import('./backup.ts'), installation()]);
      await backUp(await findStorage(pieces, flags), { file, withMasterKey, version: program.version()! }, pieces);
    });
}

function addRestore(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('restore'))
    .description('restore a backup into an empty database: all of it, or nothing')
    .argument('<file>', 'a file written by `podyard backup`')
    .addHelpText('after', WHERE)
    .action(async (file: string, flags: Flags) => {
      const [{ restore }, { findInstallation }] = await Promise.all([import('./backup.ts'), installation()]);
      const { storage } = await findInstallation(pieces, flags, 'Restoring into');
      await restore(storage, { file }, pieces);
    });
}

function addMove(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('move'))
    .description('move everything to another database; all servers must be stopped')
    .requiredOption('--to <database>', 'a PostgreSQL URL, or `embedded` for the one in the data directory')
    .addHelpText('after', WHERE)
    .action(async ({ to, ...flags }: Flags & { to: string }) => {
      const [{ move }, { findInstallation }] = await Promise.all([import('./move.ts'), installation()]);
      const { storage } = await findInstallation(pieces, flags, 'Moving');
      await move(storage, { to }, pieces);
    });
}

function addStopWorkers(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('stop-workers'))
    .description('stop the workers and pods that a server left running')
    .option('--runtime <name>', "docker, process or kubernetes (default: the last server's runtime)")
    .option('--grace <seconds>', 'how long a program may take to exit (default: 10)', parseCount)
    .addHelpText('after', WHERE)
    .action(async ({ grace, runtime, ...flags }: Flags & { grace?: number }) => {
      const [{ stopWorkers }, { findInstallation }] = await Promise.all([import('./stop-workers.ts'), installation()]);
      const { storage, more } = await findInstallation(pieces, flags);
      const open: StopWorkersOptions['open'] = (name, id) => pieces.openRuntime(flags, name, id, more);
      const options = { runtime: runtime ?? null, graceMs: (grace ?? 10) * 1000, open };
      await stopWorkers(storage, options, pieces);
    });
}
