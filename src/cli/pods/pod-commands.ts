import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { LogOptions } from '../jobs/show-log.ts';
import { envQuery, patchVariables, requireVariables } from '../records/env-options.ts';
import {
  addContainerOptions,
  type PodOptions,
  type PodUpdateOptions,
  podBody,
  podUpdateBody,
  wholeNumber,
} from '../records/fields.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addLogOptions,
  addRecordCommands,
  type Common,
  connect,
  records,
  send,
} from '../shared/command-shape.ts';
import { requireName } from '../shared/name-argument.ts';
import type { Wire } from '../shared/records.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { LifetimeOptions } from './pod-lifetime.ts';

type CreatePodOptions = PodOptions & LifetimeOptions & Common & { private?: boolean; wait?: boolean };

const LIFETIME = {
  stopAfter: 'when it is stopped: a time such as 2030-01-31T12:00:00Z, a span such as 2h, or `never`',
  terminateAfter: 'when it is terminated: the same',
};

export function addPods(program: Command, pieces: CliPieces): void {
  const pods = program.command('pods').description('manage pods: containers that run until you stop them');
  const kindOf = async () => (await records()).RECORDS.pods;
  addRecordCommands(pods, pieces, kindOf);
  addCommon(addContainerOptions(pods.command('create'), 'create'))
    .description('create and start a pod')
    .option('--template <id>', 'template to copy container settings from, by id or name')
    .option('--gpu <id>', 'GPU type, as listed by `podyard catalog gpus`')
    .option('--gpu-count <number>', 'number of GPUs (default: 1)', wholeNumber)
    .option('--cpu <id>', 'CPU flavor, as listed by `podyard catalog cpus`')
    .option('--vcpus <number>', 'number of vCPUs (default: 2)', wholeNumber)
    .option('--data-center <id...>', 'data centers, preferred first (default: any)')
    .option('--persistent <gb[:path]>', 'storage in GB that outlives the container (default path: /workspace)')
    .option('--network-volume <id[:path]>', 'network volume to mount, by id or name (default path: /workspace)')
    .option('--ssh', 'pass your SSH keys to the pod and publish port 22; the image must start an SSH server')
    .option('--jupyter', 'pass a password to the pod and expose port 8888; the image must start Jupyter')
    .option('--private', 'ask for an API key of yours at its HTTP ports')
    .option('--stop-after <time>', LIFETIME.stopAfter)
    .option('--terminate-after <time>', LIFETIME.terminateAfter)
    .option('--wait', 'wait until the pod runs')
    .action(async (name: string | undefined, options: CreatePodOptions) => {
      const given = podBody({ ...options, name: requireName(name, options.name, 'pods create') });
      const [client, query] = await Promise.all([connect(pieces, options), createQuery(options)]);
      const body = await (await records()).resolveNames(client, given);
      const pod = await send(pieces, options, () => client.call('POST', `/v2/pods${query}`, body));
      if (options.wait) await wait(client, pod.id, pieces);
    });
  addUpdate(pods, pieces);
  addLifetime(pods, pieces);
  addAccess(pods, pieces);
  for (const action of ['start', 'stop', 'restart'] as const) {
    const command = addCommon(pods.command(action)).description(`${action} a pod`).argument('<id>', 'id or name');
    if (action !== 'stop') command.option('--wait', 'wait until the pod runs');
    command.action(async (id: string, options: Common & { wait?: boolean }) => {
      const [{ findRecord }, kind, client] = await Promise.all([records(), kindOf(), connect(pieces, options)]);
      const pod = await findRecord(client, kind, id);
      await send(pieces, options, () => client.call('POST', `/v2/pods/${pod.id}/action`, { action }));
      if (options.wait) await wait(client, pod.id, pieces);
    });
  }
  addLogOptions(addCommon(pods.command('logs')))
    .description('show the log of a pod')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: LogOptions & Common) => {
      const [{ findRecord }, kind, client] = await Promise.all([records(), kindOf(), connect(pieces, options)]);
      const pod = await findRecord(client, kind, id);
      const { showLog } = await import('../jobs/show-log.ts');
      await showLog(client, { place: `/v2/pods/${pod.id}` }, options, pieces);
    });
}

function addAccess(pods: Command, pieces: CliPieces): void {
  addCommon(pods.command('ssh'))
    .description('print the command that opens an SSH session in a pod')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const { name, status, ssh } = await findRecord(client, RECORDS.pods, id);
      const why = status === 'RUNNING' ? 'its port 22/tcp is not published: create it with --ssh' : `it is ${status}`;
      if (ssh.direct === null) throw new Error(`${name} cannot be reached by SSH: ${why}`);
      pieces.print(options.json ? jsonText(ssh) : ssh.direct.command);
    });
  addCommon(pods.command('jupyter'))
    .description('print the password of the Jupyter in a pod')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const pod = await findRecord(client, RECORDS.pods, id);
      const answer = await client.call<{ password: string | null }>('GET', `/v2/pods/${pod.id}/jupyter`);
      const why = 'it was not created with --jupyter, never started, or its env sets JUPYTER_PASSWORD';
      if (answer.password === null) throw new Error(`${pod.name} has no password of its own: ${why}`);
      pieces.print(options.json ? jsonText(answer) : answer.password);
    });
}

function addUpdate(pods: Command, pieces: CliPieces): void {
  addCommon(addContainerOptions(pods.command('update'), 'update'))
    .description('change the given settings; new container settings replace the container')
    .argument('<id>', 'id or name')
    .option('--private', 'ask for an API key of yours at its HTTP ports')
    .option('--public', 'let everybody who knows the name use its HTTP ports')
    .option('--lock', 'refuse to stop and restart it')
    .option('--unlock', 'allow to stop and restart it')
    .option('--global-networking', 'ask for the network of all pods; stored, without effect here')
    .option('--no-global-networking', 'leave it')
    .option(
      '--persistent <gb[:path]>',
      'new size of its persistent storage, which can only grow, and where it is mounted',
    )
    .option('--network-volume <id:path>', 'where its network volume is mounted; the volume cannot be replaced')
    .option('--template <id>', 'template whose container settings replace the pod’s, by id or name; the given ones win')
    .action(async (id: string, options: PodUpdateOptions & Common & { private?: boolean; public?: boolean }) => {
      if (options.private && options.public) throw new UsageError('--private and --public exclude each other');
      podUpdateBody(options); // refuses a malformed command line before anything is read
      envQuery(options);
      const [{ findRecord, RECORDS, resolveNames }, client] = await Promise.all([records(), connect(pieces, options)]);
      const pod = await findRecord(client, RECORDS.pods, id);
      requireVariables(options, pod as never);
      const paths = { persistent: pod.mounts?.persistent?.path, network: pod.mounts?.network?.[0]?.path };
      const body = await resolveNames(client, podUpdateBody(options, paths));
      const path = `${RECORDS.pods.path}/${pod.id}`;
      const isPrivate = options.private ?? (options.public ? false : undefined);
      if (isPrivate !== undefined) await client.call('PUT', `${path}/access`, { private: isPrivate });
      const patch = (change: Wire, query: string) => client.call<Wire>('PATCH', `${path}${query}`, change);
      await send(pieces, options, () => patchVariables({ before: pod, body, options }, patch, pieces));
    });
}

function addLifetime(pods: Command, pieces: CliPieces): void {
  addCommon(pods.command('lifetime'))
    .description('show or set when a pod is stopped and terminated')
    .argument('<id>', 'id or name')
    .option('--stop-after <time>', LIFETIME.stopAfter)
    .option('--terminate-after <time>', LIFETIME.terminateAfter)
    .action(async (id: string, options: LifetimeOptions & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const pod = await findRecord(client, RECORDS.pods, id);
      await (await import('./pod-lifetime.ts')).editLifetime(client, pod.id, options, pieces);
    });
}

/** The options of a create that are no part of the record. */
async function createQuery(options: LifetimeOptions & { private?: boolean }): Promise<string> {
  const { stopAfter, terminateAfter } = (await import('./pod-lifetime.ts')).readLifetime(options);
  const query = new URLSearchParams({
    ...(options.private && { private: 'true' }),
    ...(stopAfter && { stopAfter }),
    ...(terminateAfter && { terminateAfter }),
  });
  return query.size === 0 ? '' : `?${query}`;
}

async function wait(client: ApiClient, id: unknown, pieces: CliPieces): Promise<void> {
  await (await import('./wait-for-pod.ts')).waitForPod(client, String(id), pieces);
}
