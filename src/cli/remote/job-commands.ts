import { type Command, Option } from 'commander';
import { JOB_STATUSES } from '../../domain/jobs/job.ts';
import type { CliPieces } from '../cli-pieces.ts';
import { addCommon, addLogOptions, type Common, connect, onEndpoint, records } from './command-shape.ts';
import { wholeNumber } from './fields.ts';
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
    .action(async (id: string, input: string | undefined, options: RunOptions & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = await findRecord(client, RECORDS.endpoints, id);
      await (await import('./run-job.ts')).runJob(client, endpoint.id, input, options, pieces);
    });
  addJobList(program, pieces);
  addLogOptions(addCommon(program.command('logs')))
    .description('show the log of a worker (default: the newest; without a running one, the last that ended)')
    .argument('<endpoint>', 'id or name')
    .option('--worker <id>', 'worker whose log to show')
    .action(async (id: string, options: LogOptions & Common & { worker?: string }) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const endpoint = await findRecord(client, RECORDS.endpoints, id);
      const path = `/v2/serverless/${endpoint.id}/workers`;
      const { findLoggedWorker, showLog } = await import('./show-log.ts');
      const worker = options.worker ?? (await findLoggedWorker(client, path, pieces));
      await showLog(client, `${path}/${worker}/logs`, options, pieces.terminal);
    });
}

interface JobListOptions {
  status?: string[];
  worker?: string;
  since?: string;
  until?: string;
  limit: number;
  cursor?: string;
}

function addJobList(program: Command, pieces: CliPieces): void {
  onEndpoint<JobListOptions>(program.command('jobs'), pieces, async (client, endpointId, options) => {
    await (await import('./job-list.ts')).showJobs(client, endpointId, options, pieces);
  })
    .description('list the jobs of an endpoint, newest first; ended ones while their result is kept')
    .addOption(new Option('--status <state...>', 'only jobs in these states').choices(JOB_STATUSES))
    .option('--worker <id>', 'only jobs that this worker took')
    .option('--since <time>', 'created at or after: a time, or an age such as 90s, 15m, 2h or 1d')
    .option('--until <time>', 'created before: a time or an age')
    .option('--limit <number>', 'how many to list', wholeNumber, 50)
    .option('--cursor <text>', 'where to continue, as the last list said');
}
