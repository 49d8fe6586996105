/** When a pod runs: waits for its start, and edits the times at which it is stopped and terminated. */
import { UsageError } from '../../core/usage-error.ts';
import { present } from '../fields/field.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { parseSpan } from '../shared/options.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface LifetimeOptions {
  stopAfter?: string;
  terminateAfter?: string;
  json?: boolean;
}

const COLUMNS: readonly Column<Schemas['PodLifetime']>[] = [
  ['STOPS', (r) => r.stopAfter ?? 'never'],
  ['TERMINATES', (r) => r.terminateAfter ?? 'never'],
];

/** Reads what the options give: a time, a span from now such as `2h`, or `never`. Throws an error that says what is wrong. */
export function readLifetime({ stopAfter, terminateAfter }: LifetimeOptions, nowMs = Date.now()) {
  return present({ stopAfter: readTime(stopAfter, nowMs), terminateAfter: readTime(terminateAfter, nowMs) });
}

function readTime(text: string | undefined, nowMs: number): string | null | undefined {
  if (text === undefined || text === 'never') return text && null;
  const span = parseSpan(text);
  const time = new Date(span === undefined ? text : nowMs + span);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new UsageError(`'${text}' is neither a time such as 2030-01-31T12:00:00Z, nor a span such as 2h, nor 'never'`);
}

/** Shows when a pod is stopped and terminated, after changing what is given. */
export async function editLifetime(
  client: ApiClient,
  id: string,
  options: LifetimeOptions,
  output: CliOutput,
): Promise<void> {
  const path = { id };
  const change = readLifetime(options);
  const before = await client.call('get', '/v2/pods/{id}/lifetime', { path });
  const body = { ...before, ...change };
  const isChanged = Object.keys(change).length > 0;
  const lifetime = isChanged ? await client.call('put', '/v2/pods/{id}/lifetime', { path, body }) : before;
  output.print(options.json ? jsonText(lifetime) : formatTable(COLUMNS, [lifetime], output.screen));
}

const SETTLED = new Set(['RUNNING', 'ERROR', 'EXITED']);

/**
 * Waits until a pod runs, and shows its system log lines, such as the image pull, as progress. Says why it waits for
 * capacity. Throws a sentence with the last line if the pod settles in another state.
 */
export async function waitForPod(client: ApiClient, id: string, output: CommandOutput): Promise<void> {
  const { terminal } = output;
  const end = new AbortController();
  let last = '';
  let notedReason: string | undefined;
  const following = (async () => {
    for await (const event of client.events(`/v2/pods/${id}/logs?source=system&tail=0`, end.signal)) {
      last = (JSON.parse(event) as { line: string }).line;
      terminal.progress(last);
    }
  })().catch(() => {}); // only progress is lost
  try {
    for await (const snapshot of client.events('/v2/pods/live', end.signal)) {
      const { pods } = JSON.parse(snapshot) as Pick<Schemas['PodList'], 'pods'>;
      const { status = 'TERMINATED', reason } = pods.find((pod) => pod.id === id) ?? {};
      if (status !== 'TERMINATED' && !SETTLED.has(status)) {
        if (reason && reason !== notedReason) output.note(`Waiting: ${reason}`);
        notedReason = reason ?? notedReason;
        continue;
      }
      terminal.progress('');
      if (status !== 'RUNNING') throw new Error(`the pod is ${status}${last === '' ? '' : `: ${last}`}`);
      output.note('The pod is running.');
      return;
    }
  } finally {
    end.abort();
    await following;
  }
}
