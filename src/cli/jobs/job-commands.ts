import { type Command, Option } from 'commander';
import { JOB_STATUSES } from '../../core/job-states.ts';
import { wholeNumber } from '../records/fields.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, addLogOptions, type Common, connect, onEndpoint, records } from '../shared/command-shape.ts';
import { addConfirm, type ConfirmOptions, requireConfirmable } from '../shared/confirm.ts';
import type { FollowOptions } from './follow-job.ts';
import type { JobListOptions } from './job-list.ts';
import type { RunOptions } from './run-job.ts';
import type { LogOptions } from './show-log.ts';

export function addJobs(program: Command, pieces: CliPieces): void {
  addCommon(program.command('run'))
    .description('run a job and print its output; exits with 7 if the job fails')
    .argument('<endpoint>', 'id or name')
    .argument('[input]', 'JSON for the handler, or - for stdin (default: {})')
    .option('--file <path>', 'read the input from a file')
    .option('--stream', 'print each chunk as it arrives')
    .option('--async', "print the job's id without waiting")
    .option('--cancel-on-interrupt', 'cancel the job on Ctrl-C; without it, the job keeps running')
    .action(async (id: string, input: string | undefined, options: RunOptions & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = (await findRecord(client, RECORDS.endpoints, id)) as { id: string; name: string };
      await (await import('./run-job.ts')).runJob(client, endpoint, input, options, pieces);
    });
  const jobs = program.command('jobs').description('list, explain, follow, cancel and retry jobs of an endpoint');
  addJobList(jobs, pieces);
  addJobActions(jobs, pieces);
  addLogOptions(addCommon(program.command('logs')))
    .description('show the log of a worker (default: the newest; without a running one, the last that ended)')
    .option('--all', 'the lines of all workers together, ended ones too')
    .argument('<endpoint>', 'id or name')
    .option('--worker <id>', 'worker whose log to show')
    .action(async (id: string, options: LogOptions & Common & { worker?: string; all?: boolean }) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = await findRecord(client, RECORDS.endpoints, id);
      const place = `/v2/serverless/${endpoint.id}`;
      const { findLoggedWorker, isSearch, showLog } = await import('./show-log.ts');
      const isAll = options.all === true || (options.worker === undefined && isSearch(options));
      const worker = isAll
        ? undefined
        : (options.worker ?? (await findLoggedWorker(client, `${place}/workers`, pieces)));
      await showLog(client, { place, worker }, options, pieces);
    });
}

function addJobList(jobs: Command, pieces: CliPieces): void {
  onEndpoint<JobListOptions>(
    jobs.command('list', { isDefault: true }).alias('ls'),
    pieces,
    async (client, endpointId, options, name) => {
      await (await import('./job-list.ts')).showJobs(client, endpointId, { ...options, name }, pieces);
    },
  )
    .description('list the jobs of an endpoint, newest first; ended ones while their result is kept')
    .addOption(new Option('--status <state...>', 'only jobs in these states').choices(JOB_STATUSES))
    .option('--worker <id>', 'only jobs that this worker took')
    .option('--error <text>', 'only jobs that failed with an error that contains this text')
    .option('--since <time>', 'created at or after: a time, or an age such as 90s, 15m, 2h or 1d')
    .option('--until <time>', 'created before: a time or an age')
    .option('--limit <number>', 'how many to list', wholeNumber, 50)
    .option('--cursor <text>', 'where to continue, as the last list said');
}

type OneJob = { endpointId: string; id: string };

function addJobActions(jobs: Command, pieces: CliPieces): void {
  const edit = () => import('./edit-jobs.ts');
  onJob<{ input?: boolean; output?: boolean }>(jobs.command('get'), pieces, async (client, job, options) =>
    (await import('./show-job.ts')).showJob(client, job, options, pieces),
  )
    .description('show a job: its state and error, why it waits, its attempts, webhook, input and output')
    .option('--input', 'print only its input, however large')
    .option('--output', 'print only its output, however large');
  onJob<FollowOptions>(jobs.command('follow'), pieces, async (client, job, options) =>
    (await import('./follow-job.ts')).followJob(client, job, options, pieces),
  )
    .description(
      'wait for the end of a job and print its output; exits with 7 if the job fails. Ctrl-C leaves it alone',
    )
    .option('--stream', 'print each chunk as it arrives');
  onJob(jobs.command('cancel'), pieces, async (client, job, options) =>
    (await edit()).actOnJob(client, job, 'cancel', options, pieces),
  ).description('cancel a job; one that has ended stays as it is');
  onJob(jobs.command('retry'), pieces, async (client, job, options) =>
    (await edit()).actOnJob(client, job, 'retry', options, pieces),
  ).description('queue a job again that FAILED or TIMED_OUT, with the same id and input');
  addConfirm(addCommon(jobs.command('purge')))
    .description('cancel all queued jobs of an endpoint; running ones continue, and those of batches stay')
    .argument('<endpoint>', 'id or name')
    .action(async (id: string, options: Common & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = (await findRecord(client, RECORDS.endpoints, id)) as { id: string; name: string };
      await (await edit()).purgeQueue(client, endpoint, options, pieces);
    });
}

/** Adds the arguments endpoint and job, and runs `work` with their ids. */
function onJob<Options>(
  command: Command,
  pieces: CliPieces,
  work: (client: ApiClient, job: OneJob, options: Options & Common) => Promise<void>,
): Command {
  return addCommon(command)
    .argument('<endpoint>', 'id or name')
    .argument('<job>', "the job's id")
    .action(async (endpoint: string, id: string, options: Options & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const { id: endpointId } = await findRecord(client, RECORDS.endpoints, endpoint);
      await work(client, { endpointId, id: encodeURIComponent(id) }, options);
    });
}
