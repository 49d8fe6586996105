import type { Command } from 'commander';
import type { Flags } from '../../config/config.ts';
import { SETTINGS } from '../../config/settings.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addSettings } from '../shared/options.ts';

const ENVIRONMENT = `
Every option can also be set by a variable, such as PODYARD_PORT or PODYARD_DATA_DIR; an option wins over its variable.
DATABASE_URL is read as well. PODYARD_ADMIN_KEY sets the first user's key; without it, one is generated and shown once.`;

/** Adds `serve`, `demo`, `prove`, `copy-models` and `serve-files`. */
export function addServerCommands(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('serve', { isDefault: true }))
    .description('run the server (the default command)')
    .action((flags: Flags) => pieces.serve(flags));
  addServerOptions(program.command('demo'))
    .description('start a server, deploy an example endpoint, run jobs, roll out a release, and stay up')
    .option('--exit', 'exit after the demo instead of staying up')
    .action((flags: Flags & { exit?: boolean }) => pieces.demo(flags));
  addServerOptions(program.command('prove', { hidden: true }))
    .description(
      'start a server that clients cannot find, prove with one job that it works, and stop it; for install.sh',
    )
    .action((flags: Flags) => pieces.prove(flags));
  program
    .command('copy-models', { hidden: true })
    .argument('<folder>')
    .description('copy the models of a worker to its node; a server on Kubernetes starts it')
    .action((folder: string) => pieces.copyModels(folder));
  program
    .command('serve-files', { hidden: true })
    .argument('<folder>')
    .requiredOption('--port <port>')
    .description('serve the files of a network volume to servers; a server on Kubernetes starts it')
    .action((folder: string, { port }: { port: string }) => pieces.serveFiles(folder, Number(port)));
}

export function addDoctor(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('doctor'))
    .description('check what a server would use on this machine, and how to fix what is missing')
    .option('--json', 'print JSON, for programs')
    .option('--offline', 'do not ask whether the hub of models answers')
    .action(async ({ json = false, offline = false, ...flags }: Flags & { json?: boolean; offline?: boolean }) => {
      const { unitVariables } = await import('../storage/installation.ts');
      const more = await unitVariables(pieces, flags);
      if (!(await pieces.doctor(flags, { isJson: json, isOffline: offline }, more)))
        throw new Error('a server cannot run here yet');
    });
}

/** Adds every setting of a server that has a flag. */
function addServerOptions(command: Command): Command {
  return addSettings(command, SETTINGS).addHelpText('after', ENVIRONMENT);
}
