import { type Command, Option } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import type { DeployOptions } from './deploy.ts';

const TEMPLATES = ['python', 'javascript', 'http', 'dockerfile'] as const;

export function addDeploy(program: Command, pieces: CliPieces): void {
  program
    .command('init')
    .description('write a folder that can be deployed')
    .argument('[dir]', 'the folder, which may have other files', '.')
    .addOption(new Option('--template <kind>', 'what it has').choices(TEMPLATES).default('python'))
    .action(async (dir: string, { template }: { template: (typeof TEMPLATES)[number] }) =>
      (await import('./init-folder.ts')).initFolder(dir, template, pieces),
    );
  addCommon(program.command('deploy'))
    .description('build a folder, and create or update its endpoint')
    .argument('[dir]', 'the folder: a Dockerfile, or Python or JavaScript with a handler', '.')
    .option('--name <text>', 'name of the endpoint (default: of podyard.yaml, or the folder’s)')
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--yes', 'replace and stop things without asking; needed where there is no terminal')
    .option('--no-wait', 'do not wait until every worker runs the new release')
    .option('--no-cache', 'build every step anew, also of a folder that has not changed')
    .option('--eject', 'write the generated Dockerfile into the folder, and deploy nothing')
    .addHelpText(
      'after',
      '\nExit status: 0 done; 1 other failure, or the release does not start; 2 a mistake in the folder, in podyard.yaml\n' +
        'or on the command line; 3 API key refused; 4 not found; 5 refused by the server; 6 try again later; 9 the build failed.',
    )
    .action(async (dir: string, options: DeployOptions & Common & { eject?: boolean }) => {
      if (options.eject) return (await import('./eject.ts')).eject(dir, pieces);
      if (options.name === '') throw new UsageError('--name is empty');
      const { deploy } = await import('./deploy.ts');
      return deploy(await connect(pieces, options), dir, options, pieces);
    });
}
