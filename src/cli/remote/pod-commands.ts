import type { Command } from 'commander';
import type { CliPieces } from '../cli-pieces.ts';
import type { ApiClient } from './api-client.ts';
import {
  addCommon,
  addLogOptions,
  addRecordCommands,
  type Common,
  connect,
  parts,
  records,
  send,
} from './command-shape.ts';
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
    .option('--wait', 'wait until it runs')
    .action(async (options: PodOptions & Common & { wait?: boolean }) => {
      const client = await connect(pieces, options);
      const pod = await send(pieces, options, () => client.call('POST', '/v2/pods', podBody(options)));
      if (options.wait) await wait(client, pod.id, pieces);
    });
  for (const action of ['start', 'stop', 'restart'] as const) {
    const command = addCommon(pods.command(action))
      .description(`${action} one`)
      .argument('<id>', 'its id, or its name');
    if (action !== 'stop') command.option('--wait', 'wait until it runs');
    command.action(async (id: string, options: Common & { wait?: boolean }) => {
      const [{ findRecord }, kind, client] = await Promise.all([records(), kindOf(), connect(pieces, options)]);
      const pod = await findRecord(client, kind, id);
      await send(pieces, options, () => client.call('POST', `/v2/pods/${pod.id}/action`, { action }));
      if (options.wait) await wait(client, pod.id, pieces);
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

async function wait(client: ApiClient, id: unknown, pieces: CliPieces): Promise<void> {
  await (await import('./wait-for-pod.ts')).waitForPod(client, String(id), parts(pieces));
}
