import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CliPieces } from './cli-pieces.ts';
import type { ApiClient } from './remote/api-client.ts';
import {
  addContainerOptions,
  addEndpointOptions,
  type ContainerOptions,
  type EndpointOptions,
  type PodOptions,
  wholeNumber,
} from './remote/fields.ts';
import type { Column, RecordKind, Wire } from './remote/records.ts';
import type { RunOptions } from './remote/run-job.ts';
import type { LogOptions } from './remote/show-log.ts';

interface Common {
  context?: string;
  json?: boolean;
}

/** The commands that talk to a server over the public interface, as any other client does. */
export function addRemoteCommands(program: Command, pieces: CliPieces): void {
  addSignIn(program, pieces);
  addEndpoints(program, pieces);
  addJobs(program, pieces);
  addPods(program, pieces);
  addOtherRecords(program, pieces);
  addCatalogAndBilling(program, pieces);
}

function addCommon(command: Command): Command {
  return command
    .option('--context <name>', 'which server, as `podyard contexts` lists them (default: the current one)')
    .option('--json', 'print JSON, for programs');
}

async function connect(pieces: CliPieces, { context }: Common): Promise<ApiClient> {
  const [{ ApiClient }, { findTarget }] = await Promise.all([
    import('./remote/api-client.ts'),
    import('./remote/contexts.ts'),
  ]);
  return new ApiClient(await findTarget(pieces.terminal, context), pieces.terminal.interrupted);
}

const records = () => import('./remote/records.ts');
const fields = () => import('./remote/fields.ts');

function addSignIn(program: Command, pieces: CliPieces): void {
  program
    .command('login')
    .description('remember a server and a key for it; the key is asked for, or read from stdin')
    .argument('[url]', 'where the server is', 'http://127.0.0.1:8080')
    .option('--name <context>', 'what to call it', 'default')
    .action(async (url: string, { name }: { name: string }) => {
      const { login } = await import('./remote/login.ts');
      await login(pieces, { url, name });
    });
  const contexts = program.command('contexts').description('the servers that are known');
  contexts
    .command('list', { isDefault: true })
    .description('list them; the current one is marked')
    .action(async () => {
      const { listContexts } = await import('./remote/login.ts');
      await listContexts(pieces);
    });
  contexts
    .command('use')
    .description('talk to this one from now on')
    .argument('<name>')
    .action(async (name: string) => (await import('./remote/contexts.ts')).useContext(pieces.terminal, name));
  contexts
    .command('remove')
    .description('forget one and its key')
    .argument('<name>')
    .action(async (name: string) => (await import('./remote/contexts.ts')).removeContext(pieces.terminal, name));
  addCommon(program.command('open'))
    .description('open the console, or an endpoint or a pod in it')
    .argument('[id]', 'an endpoint or a pod, by id or name')
    .action(async (id: string | undefined, options: Common) => {
      const { openConsole } = await import('./remote/login.ts');
      await openConsole(await connect(pieces, options), id, pieces);
    });
}

/** `list`, `get` and `delete`, the same for every kind of record. */
function addRecordCommands(parent: Command, pieces: CliPieces, kindOf: () => Promise<RecordKind>): void {
  addCommon(parent.command('list', { isDefault: true }))
    .description('list them')
    .action(async (options: Common) => {
      const [{ listRecords, showRecords }, kind] = await Promise.all([records(), kindOf()]);
      const found = await listRecords(await connect(pieces, options), kind);
      showRecords(found, kind.columns, options.json === true, pieces);
    });
  addCommon(parent.command('get'))
    .description('show one')
    .argument('<id>', 'its id, or its name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord, showRecord }, kind] = await Promise.all([records(), kindOf()]);
      showRecord(await findRecord(await connect(pieces, options), kind, id), options.json === true, pieces);
    });
  addCommon(parent.command('delete'))
    .description('delete one')
    .argument('<id>', 'its id, or its name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord }, kind] = await Promise.all([records(), kindOf()]);
      const client = await connect(pieces, options);
      const found = await findRecord(client, kind, id);
      await client.call('DELETE', `${kind.path}/${encodeURIComponent(found.id)}`);
      pieces.note(`${found.name} (${found.id}) is deleted.`);
    });
}

/** Sends a body and shows the record of the answer: for people its id and name, for programs all of it. */
async function send(
  pieces: CliPieces,
  options: Common,
  call: (client: ApiClient) => Promise<Record<string, unknown>>,
): Promise<void> {
  const record = await call(await connect(pieces, options));
  pieces.print(options.json ? JSON.stringify(record, null, 2) : `${record.id}  ${record.name}`);
}

function addEndpoints(program: Command, pieces: CliPieces): void {
  const endpoints = program.command('endpoints').description('serverless endpoints');
  const kindOf = async () => (await records()).RECORDS.endpoints;
  addRecordCommands(endpoints, pieces, kindOf);
  addCommon(addEndpointOptions(endpoints.command('create')))
    .description('deploy one')
    .addOption(new Option('--type <kind>', 'how work reaches it').choices(['QUEUE_BASED', 'LOAD_BALANCING']))
    .option('--template <id>', 'a template to copy the container settings from')
    .action(async (options: EndpointOptions & Common) => {
      const body = (await fields()).endpointBody(options);
      await send(pieces, options, (client) => client.call('POST', '/v2/serverless', body));
    });
  addCommon(addEndpointOptions(endpoints.command('update')))
    .description('change what is given, and nothing else')
    .argument('<id>', 'its id, or its name')
    .option('--wait', 'wait until every worker runs the new release')
    .action(async (id: string, options: EndpointOptions & Common & { wait?: boolean }) => {
      const [{ findRecord }, { endpointBody }, kind] = await Promise.all([records(), fields(), kindOf()]);
      const client = await connect(pieces, options);
      const found = await findRecord(client, kind, id);
      await send(pieces, options, () => client.call('PATCH', `/v2/serverless/${found.id}`, endpointBody(options)));
      if (options.wait) await (await import('./remote/rollout.ts')).watchRollout(client, found.id, parts(pieces));
    });
  onEndpoint(program.command('workers'), pieces, async (client, endpointId, options) => {
    const { showRecords, WORKER_COLUMNS } = await records();
    const { workers } = await client.call<{ workers: [] }>('GET', `/v2/serverless/${endpointId}/workers`);
    showRecords(workers, WORKER_COLUMNS, options.json === true, pieces);
  }).description('list the workers of an endpoint');
  onEndpoint(program.command('releases'), pieces, async (client, endpointId, options) => {
    const { showRecords, RELEASE_COLUMNS } = await records();
    const { releases } = await client.call<{ releases: [] }>('GET', `/v2/serverless/${endpointId}/releases`);
    showRecords(releases, RELEASE_COLUMNS, options.json === true, pieces);
  }).description('list the releases of an endpoint, the newest first');
  onEndpoint<{ to?: number; wait: boolean }>(
    program.command('rollback'),
    pieces,
    async (client, endpointId, options) => {
      const { rollBack, watchRollout } = await import('./remote/rollout.ts');
      await rollBack(client, endpointId, options.to, parts(pieces));
      if (options.wait) await watchRollout(client, endpointId, parts(pieces));
    },
  )
    .description('make a new release with the settings of an older one')
    .option('--to <version>', 'which one (default: the one before the newest)', wholeNumber)
    .option('--no-wait', 'do not wait until every worker runs it');
  onEndpoint<{ pause?: boolean; resume?: boolean }>(
    program.command('rollout'),
    pieces,
    async (client, endpointId, options) => {
      const action = options.pause ? 'pause' : options.resume ? 'resume' : undefined;
      if (action) await client.call('POST', `/v2/serverless/${endpointId}/rollout`, { action });
      if (action !== 'pause')
        await (await import('./remote/rollout.ts')).watchRollout(client, endpointId, parts(pieces));
    },
  )
    .description('watch the roll-out of the newest release, pause it or resume it')
    .option('--pause', 'keep the workers that run older releases')
    .option('--resume', 'go on replacing them');
  onEndpoint(program.command('decisions'), pieces, async (client, endpointId, options) => {
    const { decisions } = await client.call<{ decisions: [] }>('GET', `/v2/serverless/${endpointId}/decisions`);
    const { showRecords } = await records();
    const columns: Column[] = [
      ['AT', (r) => r.at],
      ['WANTED', (r) => r.wanted],
      ['WHY', (r) => r.reason],
    ];
    showRecords(decisions, columns, options.json === true, pieces);
  }).description('list the last scaling decisions of an endpoint, and why they were made');
}

function onEndpoint<Options>(
  command: Command,
  pieces: CliPieces,
  work: (client: ApiClient, endpointId: string, options: Options & Common) => Promise<void>,
): Command {
  return addCommon(command)
    .argument('<endpoint>', 'its id, or its name')
    .action(async (id: string, options: Options & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      await work(client, (await findRecord(client, RECORDS.endpoints, id)).id, options);
    });
}

function addJobs(program: Command, pieces: CliPieces): void {
  addCommon(program.command('run'))
    .description('run a job and print its output; the status is 7 when it did not complete')
    .argument('<endpoint>', 'its id, or its name')
    .argument('[input]', 'JSON for the handler, or - for stdin (default: {})')
    .option('--file <path>', 'read the input from a file')
    .option('--stream', 'print each chunk as it comes')
    .option('--async', 'print the id of the job and do not wait')
    .action(async (id: string, input: string | undefined, options: RunOptions & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = await findRecord(client, RECORDS.endpoints, id);
      await (await import('./remote/run-job.ts')).runJob(client, endpoint.id, input, options, parts(pieces));
    });
  addLogOptions(addCommon(program.command('logs')))
    .description('show the log of a worker: the one named, else the newest of the endpoint')
    .argument('<endpoint>', 'its id, or its name')
    .option('--worker <id>', 'which worker')
    .action(async (id: string, options: LogOptions & Common & { worker?: string }) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = await findRecord(client, RECORDS.endpoints, id);
      const path = `/v2/serverless/${endpoint.id}/workers`;
      const newest = async () => (await client.call<{ workers: { id: string }[] }>('GET', path)).workers.at(-1)?.id;
      const worker = options.worker ?? (await newest());
      if (worker === undefined) throw new Error('no worker runs; name one that ran with --worker');
      const { showLog } = await import('./remote/show-log.ts');
      await showLog(client, `${path}/${worker}/logs`, options, pieces.terminal);
    });
}

function addLogOptions(command: Command): Command {
  return command
    .option('-f, --follow', 'go on as lines come')
    .option('--tail <lines>', 'begin with the last so many', wholeNumber, 100)
    .addOption(new Option('--source <which>', 'only these lines').choices(['container', 'system']));
}

function addPods(program: Command, pieces: CliPieces): void {
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
      const body = (await fields()).podBody(options);
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
      const { showLog } = await import('./remote/show-log.ts');
      await showLog(client, `/v2/pods/${pod.id}/logs`, options, pieces.terminal);
    });
}

function addOtherRecords(program: Command, pieces: CliPieces): void {
  const templates = program.command('templates').description('container settings to make endpoints and pods from');
  addRecordCommands(templates, pieces, async () => (await records()).RECORDS.templates);
  addCommon(addContainerOptions(templates.command('create')))
    .description('make one')
    .option('--serverless', 'for endpoints; without it, for pods')
    .option('--public', 'others may use it')
    .action(async (options: ContainerOptions & Common & { serverless?: boolean; public?: boolean }) => {
      const { serverless = false, public: isPublic = false } = options;
      const body = { ...(await fields()).containerBody(options), serverless, public: isPublic };
      await send(pieces, options, (client) => client.call('POST', '/v2/templates', body));
    });

  const secrets = program.commands.find((command) => command.name() === 'secrets')!;
  addRecordCommands(secrets, pieces, async () => (await records()).RECORDS.secrets);
  addCommon(secrets.command('create'))
    .description('keep a value; it is asked for, or read from stdin, and never shown again')
    .argument('<name>')
    .option('--description <text>', 'for people')
    .action(async (name: string, options: Common & { description?: string }) => {
      const { readSecret } = await import('./remote/terminal.ts');
      const value = await readSecret(pieces.terminal, `Value of ${name}`);
      const body = { name, value, description: options.description ?? null };
      await send(pieces, options, (client) => client.call('POST', '/v2/account/secrets', body));
    });
  addCommon(secrets.command('update'))
    .description('replace a value; it is asked for, or read from stdin')
    .argument('<id>', 'its id, or its name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const secret = await findRecord(client, RECORDS.secrets, id);
      const { readSecret } = await import('./remote/terminal.ts');
      const value = await readSecret(pieces.terminal, `New value of ${secret.name}`);
      await send(pieces, options, () => client.call('PATCH', `/v2/account/secrets/${secret.id}`, { value }));
    });

  const volumes = program.command('volumes').description('network volumes');
  addRecordCommands(volumes, pieces, async () => (await records()).RECORDS.volumes);
  addCommon(volumes.command('create'))
    .description('make one')
    .argument('<name>')
    .requiredOption('--size <gb>', 'its size, which can grow', wholeNumber)
    .requiredOption('--data-center <id>', 'where it is')
    .action(async (name: string, options: Common & { size: number; dataCenter: string }) => {
      const body = { name, size: options.size, dataCenter: options.dataCenter };
      await send(pieces, options, (client) => client.call('POST', '/v2/network-volumes', body));
    });
  addCommon(volumes.command('update'))
    .description('rename one, or let it grow')
    .argument('<id>', 'its id, or its name')
    .option('--name <text>', 'its new name')
    .option('--size <gb>', 'its new size', wholeNumber)
    .action(async (id: string, { name, size, ...options }: Common & { name?: string; size?: number }) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const volume = await findRecord(client, RECORDS.volumes, id);
      const body = JSON.parse(JSON.stringify({ name, size })) as object; // without what was not given
      await send(pieces, options, () => client.call('PATCH', `/v2/network-volumes/${volume.id}`, body));
    });

  const registries = program.command('registries').description('credentials for private images');
  addRecordCommands(registries, pieces, async () => (await records()).RECORDS.registries);
  addCommon(registries.command('create'))
    .description('keep credentials; the password is asked for, or read from stdin')
    .argument('<name>')
    .requiredOption('--username <name>', 'the user of the registry')
    .action(async (name: string, options: Common & { username: string }) => {
      const { readSecret } = await import('./remote/terminal.ts');
      const password = await readSecret(pieces.terminal, 'Password');
      const body = { name, username: options.username, password };
      await send(pieces, options, (client) => client.call('POST', '/v2/registries', body));
    });
}

const BUCKETS = ['hour', 'day', 'week', 'month', 'year'];

function addCatalogAndBilling(program: Command, pieces: CliPieces): void {
  const catalog = program.command('catalog').description('what can be had, and what is free');
  for (const name of ['gpus', 'cpus', 'datacenters'] as const) {
    addCommon(catalog.command(name))
      .description(`list the ${name === 'datacenters' ? 'data centers' : name.toUpperCase().replace('S', 's')}`)
      .action(async (options: Common) => {
        const { listRecords, RECORDS, showRecords } = await records();
        const kind = RECORDS[name];
        showRecords(
          await listRecords(await connect(pieces, options), kind),
          kind.columns,
          options.json === true,
          pieces,
        );
      });
  }
  addCommon(program.command('billing'))
    .description('what was used, at the prices of the catalog')
    .addOption(new Option('--by <period>', 'in which steps').choices(BUCKETS).default('day'))
    .option('--last <number>', 'how many of them', parsePositive, 30)
    .action(async (options: Common & { by: string; last: number }) => {
      const client = await connect(pieces, options);
      const path = `/v2/billing?bucketSize=${options.by}&lastN=${options.last}`;
      const { records: rows } = await client.call<{ records: [] }>('GET', path);
      const { showRecords } = await records();
      const amount =
        (...names: string[]) =>
        (r: Wire) =>
          names.reduce((sum, name) => sum + (r[name] ?? 0), 0).toFixed(4);
      const columns: Column[] = [
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

function parts(pieces: CliPieces) {
  return { terminal: pieces.terminal, output: pieces };
}

function parsePositive(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('It must be at least 1.');
  return value;
}
