import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import { type EnvOptions, envQuery, patchVariables, requireVariables } from '../fields/env-options.ts';
import { addFields, bodyOf } from '../fields/field.ts';
import { CREATE_POD, UPDATE_POD } from '../fields/fields.ts';
import type { LogOptions } from '../logs/show-log.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addLogOptions,
  addRecordCommands,
  type Common,
  connect,
  onRecord,
  printNamed,
  records,
} from '../shared/command-shape.ts';
import { addName, requireName } from '../shared/options.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { LifetimeOptions } from './pod-lifetime.ts';

type CreatePodOptions = LifetimeOptions & Common & { name?: string; private?: boolean; wait?: boolean };

const lifetime = () => import('./pod-lifetime.ts');
const STOP_AFTER = 'when it is stopped: a time such as 2030-01-31T12:00:00Z, a span such as 2h, or `never`';
const TERMINATE_AFTER = 'when it is terminated: the same';
const PRIVATE = 'ask for an API key of yours at its HTTP ports';

export function addPods(program: Command, pieces: CliPieces): void {
  const pods = program.command('pods').description('manage pods: containers that run until you stop them');
  addRecordCommands(pods, pieces, 'pods');
  addCommon(addFields(addName(pods.command('create')), CREATE_POD, 'create'))
    .description('create and start a pod')
    .option('--private', PRIVATE)
    .option('--stop-after <time>', STOP_AFTER)
    .option('--terminate-after <time>', TERMINATE_AFTER)
    .option('--wait', 'wait until the pod runs')
    .action(async (name: string | undefined, options: CreatePodOptions) => {
      const given = bodyOf(CREATE_POD, { ...options, name: requireName(name, options.name, 'pods create') });
      const [client, query] = await Promise.all([connect(pieces, options), createQuery(options)]);
      const body = await (await records()).resolveNames(client, given);
      const pod = await client.call('post', '/v2/pods', { query, body });
      printNamed(pieces, options, pod);
      if (options.wait) await wait(client, pod.id, pieces);
    });
  addUpdate(pods, pieces);
  onRecord<LifetimeOptions, 'pods'>(pods.command('lifetime'), pieces, 'pods', async (client, { id }, options) =>
    (await lifetime()).editLifetime(client, id, options, pieces),
  )
    .description('show or set when a pod is stopped and terminated')
    .option('--stop-after <time>', STOP_AFTER)
    .option('--terminate-after <time>', TERMINATE_AFTER);
  addAccess(pods, pieces);
  for (const action of ['start', 'stop', 'restart'] as const) {
    const command = onRecord<{ wait?: boolean }, 'pods'>(
      pods.command(action),
      pieces,
      'pods',
      async (client, { id }, options) => {
        const pod = await client.call('post', '/v2/pods/{id}/action', { path: { id }, body: { action } });
        if (pod) printNamed(pieces, options, pod);
        if (options.wait) await wait(client, id, pieces);
      },
    ).description(`${action} a pod`);
    if (action !== 'stop') command.option('--wait', 'wait until the pod runs');
  }
  const logs = onRecord<LogOptions, 'pods'>(pods.command('logs'), pieces, 'pods', async (client, { id }, options) => {
    const { showLog } = await import('../logs/show-log.ts');
    await showLog(client, { podId: id }, options, pieces);
  });
  addLogOptions(logs).description('show the log of a pod');
}

function addAccess(pods: Command, pieces: CliPieces): void {
  onRecord(pods.command('ssh'), pieces, 'pods', async (_client, { name, status, ssh }, { json }) => {
    const why = status === 'RUNNING' ? 'its port 22/tcp is not published: create it with --ssh' : `it is ${status}`;
    if (ssh.direct === null) throw new Error(`${name} cannot be reached by SSH: ${why}`);
    pieces.print(json ? jsonText(ssh) : ssh.direct.command);
  }).description('print the command that opens an SSH session in a pod');
  onRecord(pods.command('jupyter'), pieces, 'pods', async (client, { id, name }, { json }) => {
    const found = await client.call('get', '/v2/pods/{id}/jupyter', { path: { id } });
    const why = 'it was not created with --jupyter, never started, or its env sets JUPYTER_PASSWORD';
    if (found.password === null) throw new Error(`${name} has no password of its own: ${why}`);
    pieces.print(json ? jsonText(found) : found.password);
  }).description('print the password of the Jupyter in a pod');
}

function addUpdate(pods: Command, pieces: CliPieces): void {
  addCommon(addFields(pods.command('update'), UPDATE_POD, 'update'))
    .description('change the given settings; new container settings replace the container')
    .argument('<id>', 'id or name')
    .option('--private', PRIVATE)
    .option('--public', 'let everybody who knows the name use its HTTP ports')
    .action(async (name: string, options: EnvOptions & Common & { private?: boolean; public?: boolean }) => {
      if (options.private && options.public) throw new UsageError('--private and --public exclude each other');
      bodyOf(UPDATE_POD, options); // refuses a malformed command line before anything is read
      envQuery(options);
      const [{ findRecord, RECORDS, resolveNames }, client] = await Promise.all([records(), connect(pieces, options)]);
      const pod = await findRecord(client, RECORDS.pods, name);
      requireVariables(options, pod);
      const paths = { persistent: pod.mounts.persistent?.path, network: pod.mounts.network?.[0]?.path };
      const body = await resolveNames(client, bodyOf(UPDATE_POD, { ...options, paths }));
      const path = { id: pod.id };
      const isPrivate = options.private ?? (options.public ? false : undefined);
      if (isPrivate !== undefined) {
        await client.call('put', '/v2/pods/{id}/access', { path, body: { private: isPrivate } });
      }
      const patch = (change: Schemas['UpdatePodRequest'], query: object) =>
        client.call('patch', '/v2/pods/{id}', { path, query, body: change });
      printNamed(pieces, options, await patchVariables({ before: pod, body, options }, patch, pieces));
    });
}

/** The options of a create that are not in the record. */
async function createQuery(options: LifetimeOptions & { private?: boolean }) {
  const { stopAfter, terminateAfter } = (await lifetime()).readLifetime(options);
  return {
    ...(options.private && { private: true }),
    ...(stopAfter && { stopAfter }),
    ...(terminateAfter && { terminateAfter }),
  };
}

async function wait(client: ApiClient, id: string, pieces: CliPieces): Promise<void> {
  await (await lifetime()).waitForPod(client, id, pieces);
}
