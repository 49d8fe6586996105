import type { Command } from 'commander';
import type { CliPieces } from '../cli-pieces.ts';
import { addCommon, addLogOptions, addRecordCommands, type Common, connect, records, send } from './command-shape.ts';
import { addContainerOptions, type PodOptions, podBody, wholeNumber } from './fields.ts';
import type { LogOptions } from './show-log.ts';

export function addPods(program: Command, pieces: CliPieces): void {
  const pods = program.command('pods').description('containers that run until they are stopped');
  const kindOf = async () => (await records()).RECORDS.pods;
  addRecordCommands(pods, pieces, kindOf);
  addCommon(addContainerOptions(pods.command('create')))
    .description('start one')
    .option('--template <id>', 'a template to copy the container settings from')
    .option('--gpu <id>', 'GPU type, as `podyard catalog gpus` lists them')
    .option('--gpu-count <number>', 'how many GPUs', wholeNumber)
    .option('--cpu <id>', 'CPU flavor, as `podyard catalog cpus` lists them')
    .option('--vcpus <number>', 'how many vCPUs (default: 2)', wholeNumber)
    .option('--data-center <id...>', 'where it may be')
    .option('--persistent <gb[:path]>', 'storage that outlives its container (default path: /workspace)')
    .option('--network-volume <id[:path]>', 'a network volume to mount (default path: /workspace)')
    .action(async (options: PodOptions & Common) => {
      const body = podBody(options);
      await send(pieces, options, (client) => client.call('POST', '/v2/pods', body));
    });
  for (const action of ['start', 'stop', 'restart'] as const) {
    addCommon(pods.command(action))
      .description(`${action} one`)
      .argument('<id>', 'its id, or its name')
      .action(async (id: string, options: Common) => {
        const [{ findRecord }, kind, client] = await Promise.all([records(), kindOf(), connect(pieces, options)]);
        const pod = await findRecord(client, kind, id);
        await send(pieces, options, () => client.call('POST', `/v2/pods/${pod.id}/action`, { action }));
      });
  }
  addLogOptions(addCommon(pods.command('logs')))
    .description('show the log of one')
    .argument('<id>', 'its id, or its name')
    .action(async (id: string, options: LogOptions & Common) => {
      const [{ findRecord }, kind, client] = await Promise.all([records(), kindOf(), connect(pieces, options)]);
      const pod = await findRecord(client, kind, id);
      const { showLog } = await import('./show-log.ts');
      await showLog(client, `/v2/pods/${pod.id}/logs`, options, pieces.terminal);
    });
}
