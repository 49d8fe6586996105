import { type Command, Option } from 'commander';
import { type EnvOptions, envQuery, patchVariables, requireVariables } from '../fields/env-options.ts';
import { addFields, bodyOf } from '../fields/field.ts';
import { CREATE_ENDPOINT, UPDATE_ENDPOINT } from '../fields/fields.ts';
import type { ModelOptions } from '../models/endpoint-models.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addRecordCommands,
  type Common,
  connect,
  onEndpoint,
  printNamed,
  records,
} from '../shared/command-shape.ts';
import { addName, requireName, wholeNumber } from '../shared/options.ts';
import type { GpuRuleOptions, ScheduleOptions, WorkloadOptionFlags } from './endpoint-settings.ts';
import type { HistoryOptions } from './show-endpoint.ts';

const show = () => import('./show-endpoint.ts');
const imageNews = () => import('./image-news.ts');
const rollout = () => import('./rollout.ts');
const endpointModels = () => import('../models/endpoint-models.ts');
const settings = () => import('./endpoint-settings.ts');

const NO_TRIAL = 'do not start a worker of the release to see whether it becomes ready';

export function addEndpoints(program: Command, pieces: CliPieces): void {
  const endpoints = program.command('endpoints').description('manage serverless endpoints');
  addRecordCommands(endpoints, pieces, 'endpoints');
  addCommon(addModelOptions(addFields(addName(endpoints.command('create')), CREATE_ENDPOINT, 'create')))
    .description('deploy an endpoint')
    .action(async (name: string | undefined, options: Common & ModelOptions & { name?: string }) => {
      const given = { ...options, name: requireName(name, options.name, 'endpoints create') };
      const body = bodyOf(CREATE_ENDPOINT, given);
      const [{ resolveNames }, { createWithModels, requestsOf }] = await Promise.all([records(), endpointModels()]);
      const models = requestsOf(options);
      const client = await connect(pieces, options);
      printNamed(pieces, options, await createWithModels(client, await resolveNames(client, body), models));
    });
  addUpdate(endpoints, pieces);
  addSettings(endpoints, pieces);
  addWorkers(program, pieces);
  addReleases(program, pieces);
  addHistory(program, pieces);
  onEndpoint(program.command('decisions'), pieces, async (client, id, options, name) =>
    (await show()).showDecisions(client, { id, name }, options, pieces),
  ).description('list the latest scaling decisions of an endpoint, with reasons');
}

function addWorkers(program: Command, pieces: CliPieces): void {
  onEndpoint<{ ended?: boolean }>(program.command('workers'), pieces, async (client, id, options, name, workerId) =>
    workerId === undefined
      ? (await show()).showWorkers(client, { id, name }, options, pieces)
      : (await import('./show-worker.ts')).showWorker(client, { id, workerId }, options, pieces),
  )
    .argument('[worker]', 'id: shows this one, its start and what it uses now')
    .description('list the workers of an endpoint, or show one')
    .option('--ended', 'those that ended within 24 hours, at most the last 100, with the reason');
}

function addModelOptions(command: Command): Command {
  return command
    .option('--model <reference...>', "models its workers find, e.g. hf:Qwen/Qwen3-8B; '': none")
    .option('--model-token-secret <name>', 'secret with a token that may read them');
}

function addUpdate(endpoints: Command, pieces: CliPieces): void {
  const command = addModelOptions(addFields(endpoints.command('update'), UPDATE_ENDPOINT, 'update'));
  addCommon(command)
    .description('change the given settings only; variables are added to those that are there')
    .argument('<id>', 'id or name')
    .option(
      '--wait',
      'wait until a worker of the new release was ready and all run it; exits with 8 if the release fails',
    )
    .option('--no-trial', NO_TRIAL)
    .action(async (id: string, options: EnvOptions & ModelOptions & Common & { wait?: boolean; trial: boolean }) => {
      const given = bodyOf(UPDATE_ENDPOINT, options);
      envQuery(options); // refuses a malformed command line before anything is read
      const [{ findRecord, resolveNames, RECORDS }, { updateEndpoint }, { requestsOf, writeModels }] =
        await Promise.all([records(), import('./write-endpoint.ts'), endpointModels()]);
      const models = requestsOf(options);
      const client = await connect(pieces, options);
      const before = await findRecord(client, RECORDS.endpoints, id);
      requireVariables(options, before);
      const body = await resolveNames(client, given);
      const patch = (change: typeof body, query: object) => updateEndpoint(client, before, change, query);
      const images = body.image === before.image ? await (await imageNews()).readImages(client, before.id) : null;
      if (models !== undefined) await writeModels(client, before.id, models);
      printNamed(pieces, options, await patchVariables({ before, body, options }, patch, pieces));
      if (images !== null) {
        const news = { before: images, wait: options.wait ?? false, isAll: Object.keys(body).length === 1 };
        await (await imageNews()).noteImage(client, before, news, pieces);
      }
      if (options.wait) {
        const { trial } = options;
        await (await rollout()).proveRollout(client, before, pieces, { trial });
      }
    });
}

function addSettings(endpoints: Command, pieces: CliPieces): void {
  onEndpoint<ScheduleOptions>(endpoints.command('schedule'), pieces, async (client, id, options, name) =>
    (await settings()).editSchedule(client, id, { ...options, name }, pieces),
  )
    .description('show or set floors of workers by weekday and time of day')
    .option('--time-zone <name>', 'IANA time zone of the floors, e.g. Europe/Berlin')
    .option('--floor <text...>', "replaces all floors, each e.g. 'mon-fri 07:45-18:00 3'")
    .option('--clear', 'delete the schedule');
  onEndpoint<GpuRuleOptions>(endpoints.command('gpu-rule'), pieces, async (client, id, options) =>
    (await settings()).editGpuRule(client, id, options, pieces),
  )
    .description('show or set which GPUs of its pools an endpoint may get')
    .option('--exclude <type...>', "GPU types that its workers never get, e.g. 'NVIDIA L4'")
    .option('--cuda <version...>', 'only drivers that support one of these CUDA versions')
    .option('--min-cuda <version>', 'only drivers that support this CUDA version or a newer one')
    .option('--clear', 'remove the rule before setting what else is given');
  onEndpoint<WorkloadOptionFlags>(endpoints.command('workload-options'), pieces, async (client, id, options) =>
    (await settings()).editWorkloadOptions(client, id, options, pieces),
  )
    .description('show or set labels, annotations, CPUs and memory of an endpoint’s workers')
    .option('--label <name=value...>', 'labels of its workers’ pods on Kubernetes')
    .option('--annotation <name=value...>', 'annotations of those pods')
    .option('--cpus-per-gpu <number>', 'CPUs of a worker for each of its GPUs')
    .option('--memory-per-gpu <gb>', 'GB of memory of a worker for each of its GPUs')
    .option('--clear', 'remove all options before setting what else is given');
}

function addHistory(program: Command, pieces: CliPieces): void {
  addCommon(program.command('history'))
    .argument('[endpoint]', 'id or name; for the operator also without one, for the installation')
    .description('show what an endpoint did: jobs or requests, latency, cold starts, workers and cost')
    .option('--pool <name>', 'of this GPU pool, for the operator')
    .action(async (name: string | undefined, options: HistoryOptions & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const id = name === undefined ? null : (await findRecord(client, RECORDS.endpoints, name)).id;
      await (await show()).showHistory(client, id, options, pieces);
    })
    .addOption(new Option('--range <range>', 'how far back').choices(['1h', '24h', '7d', '30d']).default('1h'))
    .addOption(new Option('--step <seconds>', 'seconds per line; beyond 24h only 3600').choices(['60', '300', '3600']));
}

type RolloutAction = Schemas['ChangeRolloutRequest']['action'];
type RolloutOptions = { pause?: boolean; resume?: boolean; try?: boolean; trial: boolean };

function rolloutActions({ pause, resume, try: isTried, trial }: RolloutOptions): RolloutAction[] {
  const asked: [RolloutAction, boolean | undefined][] = [
    ['pause', pause],
    ['resume', resume],
    ['skip-trial', !trial],
    ['try', isTried],
  ];
  return asked.flatMap(([action, isAsked]) => (isAsked ? [action] : []));
}

function addReleases(program: Command, pieces: CliPieces): void {
  onEndpoint(program.command('releases'), pieces, async (client, id, options) =>
    (await show()).showReleases(client, id, options, pieces),
  ).description('list the releases of an endpoint, newest first');
  type RollbackOptions = { to?: number; wait: boolean; trial: boolean };
  onEndpoint<RollbackOptions>(program.command('rollback'), pieces, async (client, id, options, name) => {
    const { rollBack, proveRollout } = await rollout();
    await rollBack(client, id, options.to, options, pieces);
    if (options.wait) await proveRollout(client, { id, name }, pieces, options);
  })
    .description('create a release with the settings of an older one; exits with 8 if it fails')
    .option('--to <version>', 'version to roll back to (default: the one before the newest)', wholeNumber)
    .option('--no-wait', 'do not wait until a worker of it was ready and all run it')
    .option('--no-trial', NO_TRIAL);
  onEndpoint<RolloutOptions>(program.command('rollout'), pieces, async (client, id, options, name) => {
    const { watchRollout } = await rollout();
    for (const action of rolloutActions(options)) {
      await client.call('post', '/v2/serverless/{id}/rollout', { path: { id }, body: { action } });
    }
    await watchRollout(client, { id, name }, pieces, options);
  })
    .description('watch, pause, resume or try the newest release; exits with 8 if it fails')
    .addOption(new Option('--pause', 'keep workers of older releases').conflicts('resume'))
    .option('--resume', 'continue to replace them')
    .option('--try', 'start a worker of the release if none was ready yet; again, if the last trial failed')
    .addOption(new Option('--no-trial', 'roll it out without a trial, also after one that failed').conflicts('try'));
}
