import { UsageError } from '../../core/usage-error.ts';
import { AGE, MS_OF_UNIT } from '../jobs/job-list.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import type { Wire } from '../shared/records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface LifetimeOptions {
  stopAfter?: string;
  terminateAfter?: string;
  json?: boolean;
}

type Times = { stopAfter?: string | null; terminateAfter?: string | null };

const COLUMNS: readonly Column<Wire>[] = [
  ['STOPS', (r) => r.stopAfter ?? 'never'],
  ['TERMINATES', (r) => r.terminateAfter ?? 'never'],
];

/** Reads what the options give: a time, a span from now such as `2h`, or `never`. Throws an error that says what is wrong. */
export function readLifetime({ stopAfter, terminateAfter }: LifetimeOptions, nowMs = Date.now()): Times {
  return {
    ...(stopAfter !== undefined && { stopAfter: readTime(stopAfter, nowMs) }),
    ...(terminateAfter !== undefined && { terminateAfter: readTime(terminateAfter, nowMs) }),
  };
}

function readTime(text: string, nowMs: number): string | null {
  if (text === 'never') return null;
  const [, count, unit] = AGE.exec(text) ?? [];
  const time = unit === undefined ? new Date(text) : new Date(nowMs + Number(count) * MS_OF_UNIT[unit]!);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new UsageError(`'${text}' is neither a time such as 2030-01-31T12:00:00Z, nor a span such as 2h, nor 'never'`);
}

/** Shows when a pod is stopped and terminated, after changing what is given. */
export async function editLifetime(
  client: ApiClient,
  podId: string,
  options: LifetimeOptions,
  output: CliOutput,
): Promise<void> {
  const path = `/v2/pods/${podId}/lifetime`;
  const change = readLifetime(options);
  const before = await client.call<Wire>('GET', path);
  const isChanged = Object.keys(change).length > 0;
  const lifetime = isChanged ? await client.call<Wire>('PUT', path, { ...before, ...change }) : before;
  if (options.json) return output.print(jsonText(lifetime));
  output.print(formatTable(COLUMNS, [lifetime], output.screen));
}
