import { type Command, Option } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import { parsePositive } from '../shared/options.ts';
import type { DeployOptions } from './deploy.ts';
import type { DeployModelOptions } from './deploy-model.ts';

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
    .description('build a folder, and create or update its endpoint; or serve a model')
    .argument('[dir]', 'the folder: a Dockerfile, or Python or JavaScript with a handler; or hf:<owner>/<name>', '.')
    .option('--name <text>', 'name of the endpoint (default: of podyard.yaml, the folder’s or the model’s)')
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--yes', 'replace and stop things without asking; needed where there is no terminal')
    .option('--no-wait', 'do not wait until every worker runs the new release')
    .option('--no-trial', 'start no worker to try the new release where none is up')
    .option('--no-cache', 'build every step anew, also of a folder that has not changed')
    .option('--recipe <name>', 'for a model: how it is served (default: as the hub says what it is for)')
    .option('--recipes <file>', 'for a model: recipes instead of the server’s')
    .option('--token-secret <name>', 'for a model: secret with a token that may read it')
    .option('--pool <name...>', 'for a model: GPU pools (default: the smallest here that hold it)')
    .option('--gpu-count <number>', 'for a model, with --pool: GPUs per worker (default: 1)', parsePositive)
    .option('--eject', 'write the generated Dockerfile into the folder, and deploy nothing')
    .addHelpText(
      'after',
      '\nExit status: 0 done; 1 other failure; 2 a mistake in the folder, in podyard.yaml or on the command\n' +
        'line; 3 API key refused; 4 not found; 5 refused by the server; 6 try again later; 8 no worker of the release\n' +
        'becomes ready; 9 the build failed.',
    )
    .action(async (dir: string, options: DeployOptions & DeployModelOptions & Common & { eject?: boolean }) => {
      const isModel = /^hf:/i.test(dir);
      if (!isModel) refuseModelOptions(options);
      if (isModel && options.eject) throw new UsageError('--eject is for a folder: a model has no Dockerfile');
      if (options.gpuCount !== undefined && options.pool === undefined)
        throw new UsageError('--gpu-count needs --pool');
      if (options.eject) return (await import('./eject.ts')).eject(dir, pieces);
      if (options.name === '') throw new UsageError('--name is empty');
      if (isModel) {
        const { deployModel } = await import('./deploy-model.ts');
        return deployModel(await connect(pieces, options), dir, options, pieces);
      }
      const { deploy } = await import('./deploy.ts');
      return deploy(await connect(pieces, options), dir, options, pieces);
    });
}

function refuseModelOptions({ recipe, recipes, tokenSecret, pool, gpuCount }: DeployModelOptions): void {
  const given = { recipe, recipes, 'token-secret': tokenSecret, pool, 'gpu-count': gpuCount };
  const [option] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (option !== undefined) throw new UsageError(`--${option} is for a model: podyard deploy hf:<owner>/<name>`);
}
