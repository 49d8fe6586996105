import { hasEnded } from '../../core/job-states.ts';
import { type ApiClient, JobFailed } from '../shared/api-client.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { JobProgress } from './job-progress.ts';

interface Job {
  id: string;
  status: string;
  output?: unknown;
  error?: string;
  delayTime?: number;
  executionTime?: number;
  workerId?: string;
}

const HOLD_MS = 15_000;

interface CalledJob {
  endpointId: string;
  id: string;
}

export interface FollowOptions {
  stream?: boolean;
  json?: boolean;
}

/** Waits for the end of a job, with progress on stderr, and prints its output. Throws `JobFailed` unless it is COMPLETED. */
export async function followJob(
  client: ApiClient,
  { endpointId, id }: CalledJob,
  options: FollowOptions,
  output: CommandOutput,
): Promise<void> {
  const follow = options.stream ? followStream : followStatus;
  const job = await follow(client, { endpointId, id }, output);
  if (options.json) output.print(jsonText(job));
  else if (!options.stream && job.output !== undefined) output.print(formatOutput(job.output));
  printTimes(job, output);
  if (job.status !== 'COMPLETED') {
    throw new JobFailed(`the job ended ${job.status}${job.error ? `: ${job.error}` : ''}`);
  }
}

async function followStatus(client: ApiClient, called: CalledJob, output: CommandOutput): Promise<Job> {
  const { endpointId, id } = called;
  const progress = new JobProgress(client, called, output);
  let reported: string | undefined;
  try {
    for (;;) {
      const job = await client.call<Job>('GET', `/v2/${endpointId}/status-sync/${id}?wait=${HOLD_MS}`);
      if (hasEnded(job.status)) return job;
      progress.update(job.status);
      const shown = job.output === undefined ? undefined : formatOutput(job.output);
      if (shown !== undefined && shown !== reported) output.note(shown);
      reported = shown;
    }
  } finally {
    progress.stop();
  }
}

/** Prints each chunk as it arrives. Resolves with the ended job. */
async function followStream(client: ApiClient, called: CalledJob, output: CommandOutput): Promise<Job> {
  const { endpointId, id } = called;
  const progress = new JobProgress(client, called, output);
  try {
    for (;;) {
      const answer = await client.call<{ status: string; stream: { output: unknown }[] }>(
        'GET',
        `/v2/${endpointId}/stream/${id}?wait=${HOLD_MS}`,
      );
      if (answer.stream.length > 0) progress.stop(); // its line is not to be drawn between the chunks
      for (const chunk of answer.stream) output.terminal.write(`${formatOutput(chunk.output)}\n`);
      if (hasEnded(answer.status) && answer.stream.length === 0) {
        return await client.call<Job>('GET', `/v2/${endpointId}/status/${id}`);
      }
    }
  } finally {
    progress.stop();
  }
}

/** Returns text as it is, anything else as JSON. */
export function formatOutput(value: unknown): string {
  return typeof value === 'string' ? value : jsonText(value);
}

function printTimes(job: Job, output: CliOutput): void {
  const parts = [
    ...(job.delayTime === undefined ? [] : [`waited ${job.delayTime} ms`]),
    ...(job.executionTime === undefined ? [] : [`ran ${job.executionTime} ms`]),
    ...(job.workerId === undefined ? [] : [`on worker ${job.workerId}`]),
  ];
  output.note(`${job.status}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`);
}
