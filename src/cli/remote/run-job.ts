import { readFile } from 'node:fs/promises';
import type { CliOutput } from '../cli-pieces.ts';
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

const FINAL = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT']);
const HOLD_MS = 15_000;
const ASK_WHY_EVERY_MS = 1_000;
/** What a job that waits may wait for, in words. */
const STAGES: Record<string, string> = {
  queue: 'others come first',
  worker: 'a worker is about to be started',
  thaw: 'a frozen worker wakes up',
  capacity: 'a worker waits for a place',
  pull: 'a worker brings its image',
  create: 'a container is made',
  start: 'a container starts',
  ready: 'a worker loads',
};

export interface RunOptions {
  file?: string;
  stream?: boolean;
  async?: boolean;
  json?: boolean;
}

/**
 * Submits a job and prints its output; what it reports meanwhile goes to stderr. Ctrl-C cancels it. Throws JobFailed when
 * it ended in another way than COMPLETED.
 */
export async function runJob(
  client: ApiClient,
  endpointId: string,
  text: string | undefined,
  options: RunOptions,
  pieces: { terminal: Terminal; output: CliOutput },
): Promise<void> {
  const { terminal, output } = pieces;
  const input = await readJobInput(text, options.file, terminal);
  const { id } = await client.call<Job>('POST', `/v2/${endpointId}/run`, { input });
  if (options.async) {
    output.print(options.json ? JSON.stringify({ id }) : id);
    return;
  }
  const cancel = () => void cancelJob(client, endpointId, id);
  terminal.interrupted.addEventListener('abort', cancel);
  try {
    const job = options.stream
      ? await followStream(client, endpointId, id, pieces)
      : await followJob(client, endpointId, id, pieces);
    terminal.progress('');
    if (options.json) output.print(JSON.stringify(job, null, 2));
    else if (!options.stream && job.output !== undefined) output.print(formatOutput(job.output));
    tellTimes(job, output);
    if (job.status !== 'COMPLETED')
      throw new JobFailed(`the job ended ${job.status}${job.error ? `: ${job.error}` : ''}`);
  } finally {
    terminal.interrupted.removeEventListener('abort', cancel);
  }
}

/** The signal of the client is aborted by now: this goes on its own. */
async function cancelJob(client: ApiClient, endpointId: string, id: string): Promise<void> {
  const { url, key } = client.target;
  const headers = { authorization: `Bearer ${key}` };
  await fetch(`${url}/v2/${endpointId}/cancel/${id}`, { method: 'POST', headers }).catch(() => {});
}

async function followJob(
  client: ApiClient,
  endpointId: string,
  id: string,
  { terminal, output }: { terminal: Terminal; output: CliOutput },
): Promise<Job> {
  const startedAt = performance.now();
  let reported: string | undefined;
  let status = 'IN_QUEUE';
  let why = '';
  const clock = setInterval(() => {
    const told = status === 'IN_QUEUE' ? why : '';
    terminal.progress(`${status} ${((performance.now() - startedAt) / 1000).toFixed(0)} s${told}`);
  }, 200);
  const asking = setInterval(async () => {
    if (!terminal.isInteractive || status !== 'IN_QUEUE') return;
    why = await explain(client, endpointId, id).catch(() => '');
  }, ASK_WHY_EVERY_MS);
  try {
    for (;;) {
      const job = await client.call<Job>('GET', `/v2/${endpointId}/status-sync/${id}?wait=${HOLD_MS}`);
      if (FINAL.has(job.status)) return job;
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

/** What the job waits for now, as the end of a progress line. */
async function explain(client: ApiClient, endpointId: string, id: string): Promise<string> {
  const path = `/v2/${endpointId}/status/${id}?explain=1`;
  const { explain: told } = await client.call<{ explain: { attempts: { stages: Stage[] }[] } }>('GET', path);
  const now = told.attempts.at(-1)?.stages.at(-1);
  const text = now && (now.reason ?? STAGES[now.stage]);
  return text ? `: ${text}` : '';
}

/** Prints each chunk as it comes; answers the job at its end. */
async function followStream(
  client: ApiClient,
  endpointId: string,
  id: string,
  { terminal }: { terminal: Terminal },
): Promise<Job> {
  for (;;) {
    const answer = await client.call<{ status: string; stream: { output: unknown }[] }>(
      'GET',
      `/v2/${endpointId}/stream/${id}?wait=${HOLD_MS}`,
    );
    for (const { output } of answer.stream) terminal.write(`${formatOutput(output)}\n`);
    if (FINAL.has(answer.status) && answer.stream.length === 0) {
      return await client.call<Job>('GET', `/v2/${endpointId}/status/${id}`);
    }
  }
}

async function readJobInput(text: string | undefined, file: string | undefined, terminal: Terminal): Promise<unknown> {
  const source = file !== undefined ? await readFile(file, 'utf8') : text === '-' ? await terminal.readInput() : text;
  if (source === undefined) return {};
  try {
    return JSON.parse(source);
  } catch {
    throw new Error(`the input is not valid JSON: ${source.slice(0, 60)}`);
  }
}

function formatOutput(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function tellTimes(job: Job, output: CliOutput): void {
  const parts = [
    ...(job.delayTime === undefined ? [] : [`waited ${job.delayTime} ms`]),
    ...(job.executionTime === undefined ? [] : [`ran ${job.executionTime} ms`]),
    ...(job.workerId === undefined ? [] : [`on worker ${job.workerId}`]),
  ];
  output.note(`${job.status}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`);
}
