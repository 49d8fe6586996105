import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect, records } from '../shared/command-shape.ts';
import type { FetchOptions } from './machine-models.ts';

const machineModels = () => import('./machine-models.ts');

/** Adds the commands about what is stored on the machine to `podyard models`. */
export function addMachineModels(models: Command, pieces: CliPieces): void {
  addCommon(models.command('stored'))
    .description('list the models on the machine of the workers: admins all, others those of their endpoints')
    .action(async (options: Common) =>
      (await machineModels()).showStored(await connect(pieces, options), options.json, pieces),
    );
  addCommon(models.command('fetch'))
    .description('fetch models before a start needs them, for admins; Ctrl-C ends the wait, not the fetch')
    .argument('[model...]', 'hf:<owner>/<name>[@<revision>], or https://…#sha256=<hex>')
    .option('--endpoint <id>', 'the models of this endpoint, by id or name')
    .option('--include <pattern...>', "only files that match, e.g. '*.json' '*.safetensors'")
    .option('--exclude <pattern...>', "no files that match, e.g. '*.gguf'")
    .option('--token-secret <name>', 'secret with a token that may read them')
    .option('--pin', 'and keep them: they do not leave to make room')
    .option('--no-wait', 'do not wait until they are there')
    .action(async (sources: string[], options: FetchOptions & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const named = options.endpoint;
      const endpointId = named === undefined ? undefined : (await findRecord(client, RECORDS.endpoints, named)).id;
      await (await machineModels()).fetchAhead(client, { ...options, sources, endpointId }, pieces);
    });
  for (const [verb, description] of [
    ['pin', 'keep a model on the machine, for admins: it does not leave to make room'],
    ['unpin', 'let a model leave when room is needed, for admins'],
  ] as const) {
    addCommon(models.command(verb))
      .description(description)
      .argument('<model>', 'name or id')
      .action(async (wanted: string, options: Common) => {
        const request = { ...options, wanted, pinned: verb === 'pin' };
        await (await machineModels()).pinStored(await connect(pieces, options), request, pieces);
      });
  }
  addCommon(models.command('free'))
    .description('remove a model from the machine or end its fetch, for admins; a start that needs it fetches it again')
    .argument('<model>', 'name or id')
    .action(async (name: string, options: Common) =>
      (await machineModels()).freeStored(await connect(pieces, options), name, options.json, pieces),
    );
}
