import type { Command } from 'commander';
import { addFields, bodyOf } from '../fields/field.ts';
import { CREATE_CLUSTER } from '../fields/fields.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addRecordCommands,
  type Common,
  connect,
  onRecord,
  printNamed,
  records,
} from '../shared/command-shape.ts';
import { addName, requireName } from '../shared/options.ts';

export function addClusters(program: Command, pieces: CliPieces): void {
  const clusters = program.command('clusters').description('manage clusters: pods that start together, on one network');
  addRecordCommands(clusters, pieces, 'clusters');
  addCommon(addFields(addName(clusters.command('create')), CREATE_CLUSTER, 'create'))
    .description('create a cluster; its pods start once there is room for all of them')
    .action(async (name: string | undefined, options: Common & { name?: string }) => {
      const given = bodyOf(CREATE_CLUSTER, { ...options, name: requireName(name, options.name, 'clusters create') });
      const [{ resolveNames }, client] = await Promise.all([records(), connect(pieces, options)]);
      const body = await resolveNames(client, given);
      printNamed(pieces, options, await client.call('post', '/v2/clusters', { body }));
    });
  onRecord(clusters.command('rename'), pieces, 'clusters', async (client, { id }, options, _given, name) => {
    printNamed(
      pieces,
      options,
      await client.call('patch', '/v2/clusters/{id}', { path: { id }, body: { name: name! } }),
    );
  })
    .description('change the name')
    .argument('<name>', 'the new name');
  onRecord(clusters.command('pods'), pieces, 'clusters', async (client, { id }, { json }) => {
    const { CLUSTER_PODS, showRecords } = await records();
    const query = { include: 'REASON' };
    const { pods } = await client.call('get', '/v2/clusters/{id}/pods', { path: { id }, query });
    showRecords(pods, CLUSTER_PODS, json, pieces);
  }).description('list the pods of a cluster by rank');
}
