import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect, records } from '../shared/command-shape.ts';

/** Lists one kind of records. */
async function list(
  pieces: CliPieces,
  options: Common,
  name: 'gpus' | 'cpus' | 'datacenters' | 'models',
): Promise<void> {
  const { listRecords, RECORDS, showRecords } = await records();
  const kind = RECORDS[name];
  showRecords(await listRecords(await connect(pieces, options), kind), kind, options.json === true, pieces);
}

export function addModels(program: Command, pieces: CliPieces): void {
  addCommon(program.command('models'))
    .description('list what `model` may be in calls to /openai/v1; starts no worker')
    .action((options: Common) => list(pieces, options, 'models'));
}

export function addCatalog(program: Command, pieces: CliPieces): void {
  const catalog = program.command('catalog').description('GPU types, CPU flavors and data centers, with what is free');
  for (const name of ['gpus', 'cpus', 'datacenters'] as const) {
    addCommon(catalog.command(name))
      .description(`list the ${name === 'datacenters' ? 'data centers' : name.toUpperCase().replace('S', 's')}`)
      .action((options: Common) => list(pieces, options, name));
  }
}
