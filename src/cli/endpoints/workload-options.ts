import { UsageError } from '../../core/usage-error.ts';
import { NO_OPTIONS, type WorkloadOptions } from '../../domain/workload-options/workload-options.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import type { Wire } from '../shared/records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface WorkloadOptionFlags {
  label?: string[];
  annotation?: string[];
  cpusPerGpu?: string;
  memoryPerGpu?: string;
  clear?: boolean;
  json?: boolean;
}

const inWords = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

const COLUMNS: readonly Column<Wire>[] = [
  ['LABELS', (r) => inWords(r.labels)],
  ['ANNOTATIONS', (r) => inWords(r.annotations)],
  ['CPUS/GPU', (r) => r.cpusPerGpu],
  ['GB/GPU', (r) => r.memoryGbPerGpu],
];

/** Shows the workload options of an endpoint, after changing what is given or clearing them. */
export async function editWorkloadOptions(
  client: ApiClient,
  endpointId: string,
  flags: WorkloadOptionFlags,
  output: CliOutput,
): Promise<void> {
  const path = `/v2/serverless/${endpointId}/workload-options`;
  const change = readChange(flags);
  const now = await client.call<Wire>('GET', path);
  const isChanged = flags.clear || Object.keys(change).length > 0;
  const options = isChanged
    ? await client.call<Wire>('PUT', path, merged(flags.clear ? NO_OPTIONS : now, change))
    : now;
  if (flags.json) return output.print(jsonText(options));
  output.print(formatTable(COLUMNS, [options], output.screen));
  const { names, cpusPerGpu, memoryGbPerGpu } = options.permitted;
  const amounts = [cpusPerGpu && `${cpusPerGpu} CPUs`, memoryGbPerGpu && `${memoryGbPerGpu} GB`].filter(Boolean);
  const permitted = [...names, ...(amounts.length > 0 ? [`up to ${amounts.join(' and ')} per GPU`] : [])];
  output.note(`The operator permits ${permitted.length === 0 ? 'none' : permitted.join(', ')}.`);
}

function merged(before: WorkloadOptions | Wire, change: Partial<WorkloadOptions>): object {
  const { labels, annotations, cpusPerGpu, memoryGbPerGpu } = before as WorkloadOptions;
  return {
    cpusPerGpu,
    memoryGbPerGpu,
    ...change,
    labels: { ...labels, ...change.labels },
    annotations: { ...annotations, ...change.annotations },
  };
}

function readChange({ label, annotation, cpusPerGpu, memoryPerGpu }: WorkloadOptionFlags): Partial<WorkloadOptions> {
  return {
    ...(label && { labels: readPairs('--label', label) }),
    ...(annotation && { annotations: readPairs('--annotation', annotation) }),
    ...(cpusPerGpu !== undefined && { cpusPerGpu: readNumber('--cpus-per-gpu', cpusPerGpu) }),
    ...(memoryPerGpu !== undefined && { memoryGbPerGpu: readNumber('--memory-per-gpu', memoryPerGpu) }),
  };
}

function readPairs(option: string, items: readonly string[]): Record<string, string> {
  const pairs = items.map((item): [string, string] => {
    const at = item.indexOf('=');
    if (at < 1) throw new UsageError(`${option} has '${item}', but takes <name>=<value>`);
    return [item.slice(0, at), item.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}

function readNumber(option: string, text: string): number {
  if (/^\d{1,5}(\.\d{1,2})?$/.test(text)) return Number(text);
  throw new UsageError(`${option} is '${text}', but must be a number`);
}
