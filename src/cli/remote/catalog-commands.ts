import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CliPieces } from '../cli-pieces.ts';
import type { Column } from '../table.ts';
import { addCommon, type Common, connect, records } from './command-shape.ts';
import { wholeNumber } from './fields.ts';
import type { Wire } from './records.ts';

/** Lists one kind of records. */
async function list(
  pieces: CliPieces,
  options: Common,
  name: 'gpus' | 'cpus' | 'datacenters' | 'models',
): Promise<void> {
  const { listRecords, RECORDS, showRecords } = await records();
  const kind = RECORDS[name];
  showRecords(await listRecords(await connect(pieces, options), kind), kind.columns, options.json === true, pieces);
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

const BUCKETS = ['hour', 'day', 'week', 'month', 'year'];

export function addBilling(program: Command, pieces: CliPieces): void {
  addCommon(program.command('billing'))
    .description('show usage at catalog prices')
    .addOption(new Option('--by <period>', 'bucket size').choices(BUCKETS).default('day'))
    .option('--last <number>', 'how many buckets', parsePositive, 30)
    .action(async (options: Common & { by: string; last: number }) => {
      const client = await connect(pieces, options);
      const path = `/v2/billing?bucketSize=${options.by}&lastN=${options.last}`;
      const { records: rows } = await client.call<{ records: [] }>('GET', path);
      const { showRecords } = await records();
      const amount =
        (...names: string[]) =>
        (r: Wire) =>
          names.reduce((sum, name) => sum + (r[name] ?? 0), 0).toFixed(4);
      const columns: Column<Wire>[] = [
        ['FROM', (r) => r.startTime],
        [
          'ENDPOINTS',
          amount('serverlessGpuAmount', 'serverlessCpuAmount', 'serverlessDiskAmount', 'serverlessFeeAmount'),
        ],
        ['PODS', amount('podGpuAmount', 'podCpuAmount', 'podDiskAmount')],
        ['STORAGE', amount('storageStandardAmount', 'storageHighPerformanceAmount')],
        ['USD', amount('totalAmount')],
      ];
      showRecords(rows, columns, options.json === true, pieces);
    });
}

function parsePositive(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('It must be at least 1.');
  return value;
}
