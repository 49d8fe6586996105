import type { Command } from 'commander';
import type { Flags } from '../../config.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addDatabaseOptions, parseCount } from '../shared/options.ts';
import { readVersion } from '../shared/read-version.ts';
import type { StopWorkersOptions } from './stop-workers.ts';

/** Adds `backup`, `restore`, `move` and `stop-workers`. */
export function addStorageCommands(program: Command, pieces: CliPieces): void {
  addBackup(program, pieces);
  addRestore(program, pieces);
  addMove(program, pieces);
  addStopWorkers(program, pieces);
}

const WHERE = `
Without options and variables, it takes the database in ./.podyard; if there is none, that of the systemd unit podyard.service.`;

function addBackup(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('backup'))
    .description('write the whole database to a file, while servers run')
    .argument('<file>', 'file to write; it must not exist')
    .addHelpText('after', WHERE)
    .option('--with-master-key', 'include the master key, which decrypts the secrets: keep the file as safe', false)
    .action(async (file: string, { withMasterKey, ...flags }: Flags & { withMasterKey: boolean }) => {
      const [{ backUp }, { findStorage }] = await Promise.all([import('./backup.ts'), import('./find-storage.ts')]);
      await backUp(await findStorage(pieces, flags), { file, withMasterKey, version: readVersion() }, pieces);
    });
}

function addRestore(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('restore'))
    .description('restore a backup into an empty database: all of it, or nothing')
    .argument('<file>', 'a file written by `podyard backup`')
    .action(async (file: string, flags: Flags) => {
      const { restore } = await import('./backup.ts');
      await restore(pieces.storage(flags), { file }, pieces);
    });
}

function addMove(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('move'))
    .description('move everything to another database; all servers must be stopped')
    .requiredOption('--to <database>', 'a PostgreSQL URL, or `embedded` for the one in the data directory')
    .action(async ({ to, ...flags }: Flags & { to: string }) => {
      const { move } = await import('./move.ts');
      await move(pieces.storage(flags), { to }, pieces);
    });
}

function addStopWorkers(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('stop-workers'))
    .description('stop the workers and pods that a server left running')
    .option('--runtime <name>', "docker, process or kubernetes (default: the last server's runtime)")
    .option('--grace <seconds>', 'how long a program may take to exit (default: 10)', parseCount)
    .action(async ({ grace, runtime, ...flags }: Flags & { grace?: number }) => {
      const { stopWorkers } = await import('./stop-workers.ts');
      const open: StopWorkersOptions['open'] = (name, installation) => pieces.openRuntime(flags, name, installation);
      const options = { runtime: runtime ?? null, graceMs: (grace ?? 10) * 1000, open };
      await stopWorkers(pieces.storage(flags), options, pieces);
    });
}
