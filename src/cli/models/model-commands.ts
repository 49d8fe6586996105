import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect, onEndpoint, records } from '../shared/command-shape.ts';
import { addMachineModels } from './machine-model-commands.ts';

const endpointModels = () => import('./endpoint-models.ts');

interface SetOptions {
  include?: string[];
  exclude?: string[];
  tokenSecret?: string;
}

export function addModels(program: Command, pieces: CliPieces): void {
  const models = program
    .command('models')
    .description('models: what calls may name, what endpoints have, and what is stored');
  addCommon(models.command('list', { isDefault: true }).alias('ls'))
    .description('list what `model` may be in calls to /openai/v1; starts no worker')
    .action(async (options: Common) => {
      const { CATALOG, showRecords } = await records();
      const rows = await CATALOG.models.rows(await connect(pieces, options));
      showRecords(rows, CATALOG.models, options.json, pieces);
    });
  onEndpoint(models.command('show'), pieces, async (client, id, options, name) => {
    const { readModels, showModels } = await endpointModels();
    showModels(await readModels(client, id), name, options, pieces);
  }).description('show the models that an endpoint’s workers find on their machine, each with its commit');
  addCommon(models.command('set'))
    .description('set the models of an endpoint instead of those that it has, as a new release')
    .argument('<endpoint>', 'id or name')
    .argument('<model...>', 'hf:<owner>/<name>[@<revision>], https://…#sha256=<hex>, s3://…#sha256=<hex> or oci://…')
    .option('--include <pattern...>', "only files that match, e.g. '*.json' '*.safetensors'")
    .option('--exclude <pattern...>', "no files that match, e.g. '*.gguf'")
    .option('--token-secret <name>', 'secret with a token that may read them')
    .action(async (name: string, sources: string[], options: SetOptions & Common) => {
      const { showModels, writeModels } = await endpointModels();
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const { id } = await findRecord(client, RECORDS.endpoints, name);
      const { include = [], exclude = [], tokenSecret = null } = options;
      const wanted = sources.map((source) => ({ source, include, exclude, tokenSecret }));
      showModels(await writeModels(client, id, wanted), name, options, pieces);
    });
  addCommon(models.command('remove'))
    .description('remove models from an endpoint, as a new release; without names, all')
    .argument('<endpoint>', 'id or name')
    .argument('[model...]', '<owner>/<name>, as `podyard models show` has it')
    .action(async (name: string, names: string[], options: Common) => {
      const { removeModels, showModels } = await endpointModels();
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const { id } = await findRecord(client, RECORDS.endpoints, name);
      showModels(await removeModels(client, id, names), name, options, pieces);
    });
  addMachineModels(models, pieces);
}
