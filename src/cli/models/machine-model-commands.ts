import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';

const machineModels = () => import('./machine-models.ts');

/** Adds the commands about what is stored on the machine to `podyard models`. */
export function addMachineModels(models: Command, pieces: CliPieces): void {
  addCommon(models.command('stored'))
    .description('list the models on the machine of the workers: admins all, others those of their endpoints')
    .action(async (options: Common) =>
      (await machineModels()).showStored(await connect(pieces, options), options.json, pieces),
    );
  addCommon(models.command('free'))
    .description('remove a model from the machine, for admins; a start that needs it fetches it again')
    .argument('<model>', 'name or id')
    .action(async (name: string, options: Common) =>
      (await machineModels()).freeStored(await connect(pieces, options), name, options.json, pieces),
    );
}
