import { type Command, Option } from 'commander';
import { JOB_STATUSES } from '../../core/job-states.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addConfirm,
  type Common,
  type ConfirmOptions,
  connect,
  onEndpoint,
  onRecord,
  records,
  requireConfirmable,
} from '../shared/command-shape.ts';
import { wholeNumber } from '../shared/options.ts';
import type { CalledJob, FollowOptions } from './follow-job.ts';
import type { JobListOptions } from './jobs.ts';
import type { RunOptions } from './run-job.ts';

const load = () => import('./jobs.ts');

export function addJobs(program: Command, pieces: CliPieces): void {
  onRecord<RunOptions, 'endpoints'>(
    program.command('run'),
    pieces,
    'endpoints',
    async (client, endpoint, options, _given, input) =>
      (await import('./run-job.ts')).runJob(client, endpoint, input, options, pieces),
    '<endpoint>',
  )
    .description('run a job and print its output; exits with 7 if the job fails')
    .argument('[input]', 'JSON for the handler, or - for stdin (default: {})')
    .option('--file <path>', 'read the input from a file')
    .option('--stream', 'print each chunk as it arrives')
    .option('--async', "print the job's id without waiting")
    .option('--cancel-on-interrupt', 'cancel the job on Ctrl-C; without it, the job keeps running');
  const jobs = program.command('jobs').description('list, explain, follow, cancel and retry jobs of an endpoint');
  addJobList(jobs, pieces);
  addJobActions(jobs, pieces);
}

function addJobList(jobs: Command, pieces: CliPieces): void {
  onEndpoint<JobListOptions>(
    jobs.command('list', { isDefault: true }).alias('ls'),
    pieces,
    async (client, id, options, name) => (await load()).listJobs(client, { id, name }, options, pieces),
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

function addJobActions(jobs: Command, pieces: CliPieces): void {
  onJob<{ input?: boolean; output?: boolean }>(jobs.command('get'), pieces, async (client, job, options) =>
    (await load()).showJob(client, job, options, pieces),
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
    (await load()).actOnJob(client, job, 'cancel', options, pieces),
  ).description('cancel a job; one that has ended stays as it is');
  onJob(jobs.command('retry'), pieces, async (client, job, options) =>
    (await load()).actOnJob(client, job, 'retry', options, pieces),
  ).description('queue a job again that FAILED or TIMED_OUT, with the same id and input');
  addConfirm(addCommon(jobs.command('purge')))
    .description('cancel all queued jobs of an endpoint; running ones continue, and those of batches stay')
    .argument('<endpoint>', 'id or name')
    .action(async (id: string, options: Common & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = await findRecord(client, RECORDS.endpoints, id);
      await (await load()).purgeQueue(client, endpoint, options, pieces);
    });
}

/** Adds the arguments endpoint and job, and runs `work` with their ids. */
function onJob<Options>(
  command: Command,
  pieces: CliPieces,
  work: (client: ApiClient, job: CalledJob, options: Options & Common) => Promise<void>,
): Command {
  return onEndpoint<Options>(command, pieces, (client, endpointId, options, _name, id) =>
    work(client, { endpointId, id: id! }, options),
  ).argument('<job>', "the job's id");
}
