import { type Command, Option } from 'commander';
import { addContainerSettings, type ClusterOptions, clusterBody, wholeNumber } from '../records/fields.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, addRecordCommands, type Common, connect, records, send } from '../shared/command-shape.ts';
import { requireName } from '../shared/name-argument.ts';

export function addClusters(program: Command, pieces: CliPieces): void {
  const clusters = program.command('clusters').description('manage clusters: pods that start together, on one network');
  const kindOf = async () => (await records()).RECORDS.clusters;
  addRecordCommands(clusters, pieces, kindOf);
  addCommon(addContainerSettings(clusters.command('create'), 'create'))
    .description('create a cluster; its pods start once there is room for all of them')
    .requiredOption('--gpu <id>', 'GPU type, as listed by `podyard catalog gpus`')
    .requiredOption('--pods <number>', 'number of pods, 2 to 250', wholeNumber)
    .option('--gpu-count <number>', 'GPUs of each pod (default: 1)', wholeNumber)
    .addOption(
      new Option('--type <type>', 'what it is for; shown, nothing else')
        .choices(['APPLICATION', 'TRAINING', 'SLURM', 'RAY'])
        .default('APPLICATION'),
    )
    .option('--template <id>', 'template to copy container settings from, by id or name')
    .option('--data-center <id...>', 'preferred data centers')
    .option(
      '--persistent <gb[:path]>',
      'storage of each pod in GB that outlives its container (default path: /workspace)',
    )
    .option('--network-volume <id[:path]>', 'network volume to mount, by id or name (default path: /workspace)')
    .option('--ssh', 'pass your SSH keys to the pods')
    .option('--jupyter', 'pass a password for Jupyter to the pods')
    .action(async (name: string | undefined, options: ClusterOptions & Common) => {
      const given = clusterBody({ ...options, name: requireName(name, options.name, 'clusters create') });
      const { resolveNames } = await records();
      await send(pieces, options, async (client) =>
        client.call('POST', '/v2/clusters', await resolveNames(client, given)),
      );
    });
  addCommon(clusters.command('rename'))
    .description('change the name')
    .argument('<id>', 'id or name')
    .argument('<name>', 'the new name')
    .action(async (id: string, name: string, options: Common) => {
      const [{ findRecord }, kind, client] = await Promise.all([records(), kindOf(), connect(pieces, options)]);
      const cluster = await findRecord(client, kind, id);
      await send(pieces, options, () => client.call('PATCH', `/v2/clusters/${cluster.id}`, { name }));
    });
  addCommon(clusters.command('pods'))
    .description('list the pods of a cluster by rank')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: Common) => {
      const [shape, kind, client] = await Promise.all([records(), kindOf(), connect(pieces, options)]);
      const cluster = await shape.findRecord(client, kind, id);
      const { pods } = await client.call<{ pods: Record<string, unknown>[] }>(
        'GET',
        `/v2/clusters/${cluster.id}/pods?include=REASON`,
      );
      const none = 'It has no pods: it is being deleted.';
      shape.showRecords(pods, { columns: shape.CLUSTER_POD_COLUMNS, none }, options.json === true, pieces);
    });
}
