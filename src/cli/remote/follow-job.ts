import { hasEnded } from '../../core/job-states.ts';
import type { CliOutput, CommandOutput } from '../cli-pieces.ts';
import { jsonText } from '../terminal-text.ts';
import { type ApiClient, JobFailed } from './api-client.ts';
import type { Terminal } from './terminal.ts';

interface Job {
  id: string;
  status: string;
  output?: unknown;
  error?: string;
  delayTime?: number;
  executionTime?: number;
  workerId?: string;
}

interface Stage {
  stage: string;
  reason: string | null;
}

const HOLD_MS = 15_000;
const ASK_WHY_EVERY_MS = 1_000;
/** What a queued job waits for, by stage. */
const STAGES: Record<string, string> = {
  queue: 'other jobs are ahead of it',
  worker: 'a worker is about to start',
  thaw: 'a frozen worker is thawing',
  capacity: 'a worker is waiting for capacity',
  pull: 'a worker is pulling its image',
  create: 'a container is being created',
  start: 'a container is starting',
  ready: 'a worker is loading',
};

export interface FollowOptions {
  stream?: boolean;
  json?: boolean;
}

/** Waits for the end of a job, with progress on stderr, and prints its output. Throws `JobFailed` unless it is COMPLETED. */
export async function followJob(
  client: ApiClient,
  { endpointId, id }: { endpointId: string; id: string },
  options: FollowOptions,
  output: CommandOutput,
): Promise<void> {
  const { terminal } = output;
  const job = options.stream
    ? await followStream(client, endpointId, id, terminal)
    : await followStatus(client, endpointId, id, output);
  terminal.progress('');
  if (options.json) output.print(jsonText(job));
  else if (!options.stream && job.output !== undefined) output.print(formatOutput(job.output));
  printTimes(job, output);
  if (job.status !== 'COMPLETED') {
    throw new JobFailed(`the job ended ${job.status}${job.error ? `: ${job.error}` : ''}`);
  }
}

async function followStatus(client: ApiClient, endpointId: string, id: string, output: CommandOutput): Promise<Job> {
  const { terminal } = output;
  const startedAt = performance.now();
  let reported: string | undefined;
  let status = 'IN_QUEUE';
  let why = '';
  const clock = setInterval(() => {
    const suffix = status === 'IN_QUEUE' ? why : '';
    terminal.progress(`${status} ${((performance.now() - startedAt) / 1000).toFixed(0)} s${suffix}`);
  }, 200);
  const asking = setInterval(async () => {
    if (!terminal.isInteractive || status !== 'IN_QUEUE') return;
    why = await explain(client, endpointId, id).catch(() => '');
  }, ASK_WHY_EVERY_MS);
  try {
    for (;;) {
      const job = await client.call<Job>('GET', `/v2/${endpointId}/status-sync/${id}?wait=${HOLD_MS}`);
      if (hasEnded(job.status)) return job;
      status = job.status;
      const progress = job.output === undefined ? undefined : formatOutput(job.output);
      if (progress !== undefined && progress !== reported) output.note(progress);
      reported = progress;
    }
  } finally {
    clearInterval(clock);
    clearInterval(asking);
  }
}

/** Returns what the job waits for, as the end of a progress line. */
async function explain(client: ApiClient, endpointId: string, id: string): Promise<string> {
  const path = `/v2/${endpointId}/status/${id}?explain=1`;
  const { explain: explained } = await client.call<{ explain: { attempts: { stages: Stage[] }[] } }>('GET', path);
  const now = explained.attempts.at(-1)?.stages.at(-1);
  const text = now && (now.reason ?? STAGES[now.stage]);
  return text ? `: ${text}` : '';
}

/** Prints each chunk as it arrives. Resolves with the ended job. */
async function followStream(client: ApiClient, endpointId: string, id: string, terminal: Terminal): Promise<Job> {
  for (;;) {
    const answer = await client.call<{ status: string; stream: { output: unknown }[] }>(
      'GET',
      `/v2/${endpointId}/stream/${id}?wait=${HOLD_MS}`,
    );
    for (const { output } of answer.stream) terminal.write(`${formatOutput(output)}\n`);
    if (hasEnded(answer.status) && answer.stream.length === 0) {
      return await client.call<Job>('GET', `/v2/${endpointId}/status/${id}`);
    }
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
