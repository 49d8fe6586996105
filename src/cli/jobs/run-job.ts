import { UsageError } from '../../core/usage-error.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { readInputFile } from '../shared/read-input-file.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { type FollowOptions, followJob } from './follow-job.ts';

/** How long a submission, or a cancellation, may take after Ctrl-C. */
const GRACE_MS = 5_000;

export interface RunOptions extends FollowOptions {
  file?: string;
  async?: boolean;
  cancelOnInterrupt?: boolean;
}

/** The endpoint as the user names it, for commands to copy. */
interface Called {
  id: string;
  name: string;
}

/**
 * Submits a job and prints its output; its progress goes to stderr. After Ctrl-C the job continues, and its id is printed;
 * with `cancelOnInterrupt` it is cancelled. Throws `JobFailed` if it ends in another state than COMPLETED.
 */
export async function runJob(
  client: ApiClient,
  endpoint: Called,
  text: string | undefined,
  options: RunOptions,
  output: CommandOutput,
): Promise<void> {
  const input = await readJobInput(text, options.file, output.terminal);
  const id = await submit(client, endpoint, input, output);
  if (options.async) {
    output.print(options.json ? jsonText({ id }) : id);
    return;
  }
  try {
    await followJob(client, { endpointId: endpoint.id, id }, options, output);
  } catch (error) {
    if (output.terminal.interrupted.aborted) await afterInterrupt(client, endpoint, id, options, output);
    throw error;
  }
}

/** Ctrl-C does not cut the submission off at once: it would be unknown whether there is a job. */
async function submit(client: ApiClient, endpoint: Called, input: unknown, output: CommandOutput): Promise<string> {
  const { interrupted } = output.terminal;
  const cut = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onInterrupt = () => {
    timer = setTimeout(() => cut.abort(), GRACE_MS);
  };
  interrupted.addEventListener('abort', onInterrupt);
  try {
    const { signal } = cut;
    return (await client.json<{ id: string }>('POST', `/v2/${endpoint.id}/run`, { input }, { signal })).id;
  } catch (error) {
    if (cut.signal.aborted) {
      output.note(`It is not known whether the job was accepted: \`podyard jobs list ${endpoint.name}\` shows it.`);
    }
    throw error;
  } finally {
    clearTimeout(timer);
    interrupted.removeEventListener('abort', onInterrupt);
  }
}

async function afterInterrupt(
  client: ApiClient,
  endpoint: Called,
  id: string,
  { cancelOnInterrupt }: RunOptions,
  output: CommandOutput,
): Promise<void> {
  output.terminal.progress('');
  const job = `${endpoint.name} ${id}`;
  const keepsRunning = `Job ${id} keeps running. Follow it: podyard jobs follow ${job}; cancel it: podyard jobs cancel ${job}`;
  if (!cancelOnInterrupt) return output.note(keepsRunning);
  try {
    const signal = AbortSignal.timeout(GRACE_MS);
    const path = `/v2/${endpoint.id}/cancel/${id}`;
    const { status } = await client.json<{ status: string }>('POST', path, undefined, { signal });
    output.note(`Job ${id} is ${status}.`);
  } catch {
    output.note(`Job ${id} could not be cancelled, and keeps running. Try again: podyard jobs cancel ${job}`);
  }
}

async function readJobInput(text: string | undefined, file: string | undefined, terminal: Terminal): Promise<unknown> {
  const isStream = (file ?? text) === '-';
  const source = isStream ? await terminal.readInput() : file === undefined ? text : await readInputFile(file);
  if (source === undefined) return {};
  try {
    return JSON.parse(source);
  } catch {
    throw new UsageError(`the input is not valid JSON: ${source.slice(0, 60)}`);
  }
}
