import { type Command, Option } from 'commander';
import { envQuery, patchVariables, requireVariables } from '../records/env-options.ts';
import { addEndpointOptions, type EndpointOptions, endpointBody, wholeNumber } from '../records/fields.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addRecordCommands,
  type Common,
  connect,
  onEndpoint,
  records,
  send,
} from '../shared/command-shape.ts';
import { requireName } from '../shared/name-argument.ts';
import type { Wire } from '../shared/records.ts';
import type { Column } from '../terminal/table.ts';
import type { GpuRuleOptions } from './gpu-rule.ts';
import type { ScheduleOptions } from './schedule.ts';
import type { HistoryOptions } from './show-history.ts';
import type { WorkloadOptionFlags } from './workload-options.ts';

export function addEndpoints(program: Command, pieces: CliPieces): void {
  const endpoints = program.command('endpoints').description('manage serverless endpoints');
  const kindOf = async () => (await records()).RECORDS.endpoints;
  addRecordCommands(endpoints, pieces, kindOf);
  addCommon(addEndpointOptions(endpoints.command('create'), 'create'))
    .description('deploy an endpoint')
    .addOption(
      new Option('--type <kind>', 'how requests reach its workers (default: QUEUE_BASED)').choices([
        'QUEUE_BASED',
        'LOAD_BALANCING',
      ]),
    )
    .option('--template <id>', 'template to copy container settings from, by id or name')
    .action(async (name: string | undefined, options: EndpointOptions & Common) => {
      const given = endpointBody({ ...options, name: requireName(name, options.name, 'endpoints create') });
      const [{ NEWER_ENDPOINTS, toNewerCreate }, { resolveNames }] = await Promise.all([
        import('./newer-endpoint.ts'),
        records(),
      ]);
      await send(pieces, options, async (client) => {
        const body = await resolveNames(client, given);
        return options.cpu === undefined
          ? client.call('POST', '/v2/serverless', body)
          : client.call('POST', NEWER_ENDPOINTS, toNewerCreate(body));
      });
    });
  addCommon(addEndpointOptions(endpoints.command('update'), 'update'))
    .description('change the given settings only; variables are added to those that are there')
    .argument('<id>', 'id or name')
    .option('--wait', 'wait until every worker runs the new release')
    .action(async (id: string, options: EndpointOptions & Common & { wait?: boolean }) => {
      const given = endpointBody(options);
      envQuery(options); // refuses a malformed command line before anything is read
      const [{ findRecord, resolveNames }, kind] = await Promise.all([records(), kindOf()]);
      const client = await connect(pieces, options);
      const found = await findRecord(client, kind, id);
      requireVariables(options, found as never);
      const body = await resolveNames(client, given);
      const patch = (change: Wire, query: string) => patchEndpoint(client, found, change, query);
      await send(pieces, options, () => patchVariables({ before: found, body, options }, patch, pieces));
      if (options.wait) await (await import('./rollout.ts')).watchRollout(client, found.id, pieces);
    });
  onEndpoint<{ ended?: boolean }>(program.command('workers'), pieces, async (client, endpointId, options, name) => {
    const { ENDED_WORKER_COLUMNS, showRecords, WORKER_COLUMNS } = await records();
    const path = `/v2/serverless/${endpointId}/workers${options.ended ? '?include=ENDED' : ''}`;
    const { workers, ended } = await client.call<{ workers: []; ended?: [] }>('GET', path);
    const table = options.ended
      ? {
          columns: ENDED_WORKER_COLUMNS,
          none: `No worker has ended within 24 hours. \`podyard workers ${name}\` lists those that run.`,
        }
      : {
          columns: WORKER_COLUMNS,
          none: `No worker runs; work starts one. \`podyard decisions ${name}\` says why there are as many as there are.`,
        };
    showRecords((options.ended ? ended : workers) ?? [], table, options.json === true, pieces);
  })
    .description('list the workers of an endpoint')
    .option('--ended', 'those that ended within 24 hours, at most the last 100, with the reason');
  addReleases(program, pieces);
  addHistory(program, pieces);
  addSchedule(endpoints, pieces);
  addGpuRule(endpoints, pieces);
  addWorkloadOptions(endpoints, pieces);
  onEndpoint(program.command('decisions'), pieces, async (client, endpointId, options, name) => {
    const { decisions } = await client.call<{ decisions: [] }>('GET', `/v2/serverless/${endpointId}/decisions`);
    const [{ showRecords }, { inOneLine }] = await Promise.all([
      records(),
      import('../../domain/logs/quote-output.ts'),
    ]);
    const columns: Column<Wire>[] = [
      ['AT', (r) => r.at],
      ['WANTED', (r) => r.wanted],
      ['WHY', (r) => inOneLine(r.reason)],
    ];
    const none = `Nothing was decided yet: the first job or request of ${name} starts a worker.`;
    showRecords(decisions, { columns, none }, options.json === true, pieces);
  }).description('list the latest scaling decisions of an endpoint, with reasons');
}

function addSchedule(endpoints: Command, pieces: CliPieces): void {
  onEndpoint<ScheduleOptions>(endpoints.command('schedule'), pieces, async (client, endpointId, options, name) => {
    await (await import('./schedule.ts')).editSchedule(client, endpointId, { ...options, name }, pieces);
  })
    .description('show or set floors of workers by weekday and time of day')
    .option('--time-zone <name>', 'IANA time zone of the floors, e.g. Europe/Berlin')
    .option('--floor <text...>', "replaces all floors, each e.g. 'mon-fri 07:45-18:00 3'")
    .option('--clear', 'delete the schedule');
}

/** The older revision cannot change a CPU endpoint. */
async function patchEndpoint(client: ApiClient, found: Wire, body: Wire, query: string): Promise<Wire> {
  if (!found.cpu && body.cpu === undefined) return client.call('PATCH', `/v2/serverless/${found.id}${query}`, body);
  const { NEWER_ENDPOINTS, toNewerChange } = await import('./newer-endpoint.ts');
  const change = toNewerChange(body, { scaling: found.scaling });
  return client.call('PATCH', `${NEWER_ENDPOINTS}/${found.id}${query}`, change);
}

function addGpuRule(endpoints: Command, pieces: CliPieces): void {
  onEndpoint<GpuRuleOptions>(endpoints.command('gpu-rule'), pieces, async (client, endpointId, options) => {
    await (await import('./gpu-rule.ts')).editGpuRule(client, endpointId, options, pieces);
  })
    .description('show or set which GPUs of its pools an endpoint may get')
    .option('--exclude <type...>', "GPU types that its workers never get, e.g. 'NVIDIA L4'")
    .option('--cuda <version...>', 'only drivers that support one of these CUDA versions')
    .option('--min-cuda <version>', 'only drivers that support this CUDA version or a newer one')
    .option('--clear', 'remove the rule before setting what else is given');
}

function addWorkloadOptions(endpoints: Command, pieces: CliPieces): void {
  onEndpoint<WorkloadOptionFlags>(
    endpoints.command('workload-options'),
    pieces,
    async (client, endpointId, options) => {
      await (await import('./workload-options.ts')).editWorkloadOptions(client, endpointId, options, pieces);
    },
  )
    .description('show or set labels, annotations, CPUs and memory of an endpoint’s workers')
    .option('--label <name=value...>', 'labels of its workers’ pods on Kubernetes')
    .option('--annotation <name=value...>', 'annotations of those pods')
    .option('--cpus-per-gpu <number>', 'CPUs of a worker for each of its GPUs')
    .option('--memory-per-gpu <gb>', 'GB of memory, likewise')
    .option('--clear', 'remove all options before setting what else is given');
}

function addHistory(program: Command, pieces: CliPieces): void {
  addCommon(program.command('history'))
    .argument('[endpoint]', 'id or name; for the operator also without one, for the installation')
    .description('show what an endpoint did: jobs or requests, latency, cold starts, workers and cost')
    .option('--pool <name>', 'of this GPU pool, for the operator')
    .action(async (id: string | undefined, options: HistoryOptions & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpointId = id === undefined ? null : (await findRecord(client, RECORDS.endpoints, id)).id;
      await (await import('./show-history.ts')).showHistory(client, endpointId, options, pieces);
    })
    .addOption(new Option('--range <range>', 'how far back').choices(['1h', '24h', '7d', '30d']).default('1h'))
    .addOption(new Option('--step <seconds>', 'seconds per line; beyond 24h only 3600').choices(['60', '300', '3600']));
}

function addReleases(program: Command, pieces: CliPieces): void {
  onEndpoint(program.command('releases'), pieces, async (client, endpointId, options) => {
    const { showRecords, RELEASE_COLUMNS } = await records();
    const { releases } = await client.call<{ releases: [] }>('GET', `/v2/serverless/${endpointId}/releases`);
    showRecords(releases, { columns: RELEASE_COLUMNS, none: 'There are no releases.' }, options.json === true, pieces);
  }).description('list the releases of an endpoint, newest first');
  onEndpoint<{ to?: number; wait: boolean }>(
    program.command('rollback'),
    pieces,
    async (client, endpointId, options) => {
      const { rollBack, watchRollout } = await import('./rollout.ts');
      await rollBack(client, endpointId, options.to, options, pieces);
      if (options.wait) await watchRollout(client, endpointId, pieces, options);
    },
  )
    .description('create a release with the settings of an older one')
    .option('--to <version>', 'version to roll back to (default: the one before the newest)', wholeNumber)
    .option('--no-wait', 'do not wait until every worker runs it');
  onEndpoint<{ pause?: boolean; resume?: boolean }>(
    program.command('rollout'),
    pieces,
    async (client, endpointId, options) => {
      const action = options.pause ? 'pause' : options.resume ? 'resume' : undefined;
      if (action) await client.call('POST', `/v2/serverless/${endpointId}/rollout`, { action });
      await (await import('./rollout.ts')).watchRollout(client, endpointId, pieces, options);
    },
  )
    .description('watch, pause or resume the roll-out of the newest release')
    .option('--pause', 'keep workers of older releases')
    .option('--resume', 'continue to replace them');
}
