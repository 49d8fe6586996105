import { hasEnded } from '../../core/job-states.ts';
import { jobErrorText } from '../../core/text/job-error.ts';
import { WAIT_WORDS } from '../../core/text/wait-words.ts';
import { type ApiClient, JobFailed } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';

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
const DRAW_EVERY_MS = 200;
const ASK_EVERY_MS = 1_000;

type Stage = Schemas['JobDetail']['attempts'][number]['stages'][number];

/** A job as a command names it. */
export interface CalledJob {
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
  called: CalledJob,
  options: FollowOptions,
  output: CommandOutput,
): Promise<void> {
  const follow = options.stream ? followStream : followStatus;
  const job = await follow(client, called, output);
  if (options.json) output.print(jsonText(job));
  else if (!options.stream && job.output !== undefined) output.print(formatOutput(job.output));
  printTimes(job, output);
  if (job.status !== 'COMPLETED') {
    throw new JobFailed(`the job ended ${job.status}${job.error ? `: ${jobErrorText(job.error)}` : ''}`);
  }
}

async function followStatus(client: ApiClient, called: CalledJob, output: CommandOutput): Promise<Job> {
  const { endpointId } = called;
  const id = encodeURIComponent(called.id);
  const progress = new JobProgress(client, called, output);
  let reported: string | undefined;
  try {
    for (;;) {
      const job = await client.json<Job>('GET', `/v2/${endpointId}/status-sync/${id}?wait=${HOLD_MS}`);
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
  const { endpointId } = called;
  const id = encodeURIComponent(called.id);
  const progress = new JobProgress(client, called, output);
  try {
    for (;;) {
      const answer = await client.json<{ status: string; stream: { output: unknown }[] }>(
        'GET',
        `/v2/${endpointId}/stream/${id}?wait=${HOLD_MS}`,
      );
      if (answer.stream.length > 0) progress.stop(); // its line is not to be drawn between the chunks
      for (const chunk of answer.stream) output.terminal.write(`${formatOutput(chunk.output)}\n`);
      if (hasEnded(answer.status) && answer.stream.length === 0) {
        return await client.json<Job>('GET', `/v2/${endpointId}/status/${id}`);
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

const WORDS: Partial<Record<Stage['stage'], string>> = WAIT_WORDS;

interface Explained {
  status: string;
  workerId?: string;
  explain: { attempts: { stages: Pick<Stage, 'stage' | 'reason'>[] }[] };
}

/**
 * Reports on stderr what a job waits for, from the first second on: on a terminal in one line that is redrawn, elsewhere in a
 * line for each state. `stop` clears the line.
 */
class JobProgress {
  readonly #client: ApiClient;
  readonly #path: string;
  readonly #output: CommandOutput;
  readonly #startedAt = performance.now();
  readonly #reported = new Set<string>();
  readonly #timers: NodeJS.Timeout[];
  #status = 'IN_QUEUE';
  #why = '';
  #isAsking = false;

  constructor(client: ApiClient, { endpointId, id }: CalledJob, output: CommandOutput) {
    this.#client = client;
    this.#path = `/v2/${endpointId}/status/${encodeURIComponent(id)}?explain=1`;
    this.#output = output;
    this.#timers = [
      setInterval(() => void this.#ask(), ASK_EVERY_MS),
      ...(output.terminal.isInteractive ? [setInterval(() => this.#draw(), DRAW_EVERY_MS)] : []),
    ];
  }

  /** Takes over a status that was read otherwise. */
  update(status: string): void {
    this.#status = status;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#output.terminal.progress('');
  }

  #draw(): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0);
    const why = this.#status === 'IN_QUEUE' && this.#why !== '' ? `: ${this.#why}` : '';
    this.#output.terminal.progress(`${this.#status} ${seconds} s${why}`);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking || this.#status !== 'IN_QUEUE') return;
    this.#isAsking = true;
    const answer = await this.#client.json<Explained>('GET', this.#path).catch(() => null);
    this.#isAsking = false;
    if (answer === null) return;
    const { attempts } = answer.explain;
    const now = attempts.at(-1)?.stages.at(-1);
    this.#status = answer.status;
    this.#why = now?.reason ?? (now && WORDS[now.stage]) ?? '';
    if (!this.#output.terminal.isInteractive) this.#report(answer.workerId, attempts.length);
  }

  /**
   * A state that differs only in its numbers, such as a pull at 40 %, is the same. A job that never waited gets no line, nor does a job
   * without a reason, which is being taken.
   */
  #report(workerId: string | undefined, attempt: number): void {
    const isQueued = this.#status === 'IN_QUEUE';
    if (isQueued && this.#why === '') return;
    const state = isQueued ? this.#why.replace(/\d+/g, '#') : this.#status;
    const isNew = !this.#reported.has(`${attempt} ${state}`);
    if (!isNew || (!isQueued && (this.#reported.size === 0 || this.#status !== 'IN_PROGRESS'))) return;
    this.#reported.add(`${attempt} ${state}`);
    const on = workerId === undefined ? '' : ` on worker ${workerId}`;
    this.#output.note(`${this.#status}${isQueued ? `: ${this.#why}` : on}`);
  }
}
