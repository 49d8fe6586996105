/** The settings of an endpoint that are a resource of their own: its GPU rule, workload options and schedule. */
import { UsageError } from '../../core/usage-error.ts';
import { WEEKDAYS } from '../../domain/scheduled-floors/scheduled-floors.ts';
import { present } from '../fields/field.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { showRecords } from '../shared/show-records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface GpuRuleOptions {
  exclude?: string[];
  cuda?: string[];
  minCuda?: string;
  clear?: boolean;
  json?: boolean;
}

type GpuRule = Schemas['GpuRule'];

const NO_RULE: GpuRule = { excludedGpuTypes: [], allowedCudaVersions: [], minCudaVersion: null };
const RULE_COLUMNS: readonly Column<GpuRule>[] = [
  ['EXCLUDED', (r) => r.excludedGpuTypes.join(', ')],
  ['CUDA', (r) => r.allowedCudaVersions.join(', ')],
  ['MIN CUDA', (r) => r.minCudaVersion],
];

/** Shows the GPU rule of an endpoint, after changing what is given or clearing it. */
export async function editGpuRule(
  client: ApiClient,
  id: string,
  { exclude, cuda, minCuda, clear, json }: GpuRuleOptions,
  output: CliOutput,
): Promise<void> {
  const path = { id };
  const before = clear ? NO_RULE : await client.call('get', '/v2/serverless/{id}/gpu-rule', { path });
  const change = present({ excludedGpuTypes: exclude, allowedCudaVersions: cuda, minCudaVersion: minCuda });
  const body = { ...before, ...change };
  const isChanged = clear || Object.keys(change).length > 0;
  const rule = isChanged ? await client.call('put', '/v2/serverless/{id}/gpu-rule', { path, body }) : before;
  output.print(json ? jsonText(rule) : formatTable(RULE_COLUMNS, [rule], output.screen));
}

export interface WorkloadOptionFlags {
  label?: string[];
  annotation?: string[];
  cpusPerGpu?: string;
  memoryPerGpu?: string;
  clear?: boolean;
  json?: boolean;
}

type WorkloadOptions = Schemas['WorkloadOptions'];

const NO_OPTIONS = { labels: {}, annotations: {}, cpusPerGpu: null, memoryGbPerGpu: null };

const pairsText = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

const OPTION_COLUMNS: readonly Column<WorkloadOptions>[] = [
  ['LABELS', (r) => pairsText(r.labels)],
  ['ANNOTATIONS', (r) => pairsText(r.annotations)],
  ['CPUS/GPU', (r) => r.cpusPerGpu],
  ['GB/GPU', (r) => r.memoryGbPerGpu],
];

/** Shows the workload options of an endpoint, after changing what is given or clearing them. */
export async function editWorkloadOptions(
  client: ApiClient,
  id: string,
  { clear, json, ...flags }: WorkloadOptionFlags,
  output: CliOutput,
): Promise<void> {
  const path = { id };
  const change = present({
    labels: flags.label && readPairs('--label', flags.label),
    annotations: flags.annotation && readPairs('--annotation', flags.annotation),
    cpusPerGpu: readNumber('--cpus-per-gpu', flags.cpusPerGpu),
    memoryGbPerGpu: readNumber('--memory-per-gpu', flags.memoryPerGpu),
  });
  const now = await client.call('get', '/v2/serverless/{id}/workload-options', { path });
  const { labels, annotations, cpusPerGpu, memoryGbPerGpu } = clear ? NO_OPTIONS : now;
  const body = {
    cpusPerGpu,
    memoryGbPerGpu,
    ...change,
    labels: { ...labels, ...change.labels },
    annotations: { ...annotations, ...change.annotations },
  };
  const isChanged = clear || Object.keys(change).length > 0;
  const options = isChanged ? await client.call('put', '/v2/serverless/{id}/workload-options', { path, body }) : now;
  if (json) return output.print(jsonText(options));
  output.print(formatTable(OPTION_COLUMNS, [options], output.screen));
  output.note(`The operator permits ${permittedText(options.permitted)}.`);
}

function permittedText({ names, cpusPerGpu, memoryGbPerGpu }: WorkloadOptions['permitted']): string {
  const amounts = [cpusPerGpu && `${cpusPerGpu} CPUs`, memoryGbPerGpu && `${memoryGbPerGpu} GB`].filter(Boolean);
  const permitted = [...names, ...(amounts.length > 0 ? [`up to ${amounts.join(' and ')} per GPU`] : [])];
  return permitted.length === 0 ? 'none' : permitted.join(', ');
}

function readPairs(option: string, items: readonly string[]): Record<string, string> {
  const pairs = items.map((item): [string, string] => {
    const at = item.indexOf('=');
    if (at < 1) throw new UsageError(`${option} has '${item}', but takes <name>=<value>`);
    return [item.slice(0, at), item.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}

function readNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,5}(\.\d{1,2})?$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new UsageError(`${option} is '${text}', but must be a number`);
}

export interface ScheduleOptions {
  timeZone?: string;
  floor?: string[];
  clear?: boolean;
  json?: boolean;
}

type Floor = Schemas['Schedule']['floors'][number];

const FLOOR_COLUMNS: readonly Column<Floor>[] = [
  ['DAYS', (r) => r.days.join(' ')],
  ['FROM', (r) => r.from],
  ['UNTIL', (r) => r.until],
  ['WORKERS', (r) => r.workersMin],
];
const FLOOR = /^(\S+) (\d\d:\d\d)-(\d\d:\d\d) (\d{1,9})$/;
/** A week as people count it. */
const WEEK = [...WEEKDAYS.slice(1), WEEKDAYS[0]];

/** Shows the schedule of an endpoint, after setting or clearing it if that is asked for. */
export async function editSchedule(
  client: ApiClient,
  id: string,
  { timeZone, floor, clear, json, name }: ScheduleOptions & { name: string },
  output: CliOutput,
): Promise<void> {
  const path = { id };
  if (clear) await client.call('delete', '/v2/serverless/{id}/schedule', { path });
  else if (floor !== undefined) {
    if (timeZone === undefined) throw new UsageError('--floor needs --time-zone, such as Europe/Berlin');
    const body = { timeZone, floors: floor.map(readFloor) };
    await client.call('put', '/v2/serverless/{id}/schedule', { path, body });
  } else if (timeZone !== undefined) throw new UsageError('--time-zone needs --floor: the two are set together');
  const schedule = await client.call('get', '/v2/serverless/{id}/schedule', { path });
  if (json) return output.print(jsonText(schedule));
  const none = `${name} has no schedule. Set one: \`podyard endpoints schedule ${name} --time-zone Europe/Berlin --floor 'mon-fri 08:00-18:00 3'\`.`;
  showRecords(schedule.floors, { columns: FLOOR_COLUMNS, none }, false, output);
  const { workersMin, until } = schedule.current;
  if (schedule.floors.length === 0) return;
  output.note(`Times are of ${schedule.timeZone}. The floor is ${workersMin} now${until ? `, until ${until}` : ''}.`);
}

/** Reads `mon-fri 08:00-18:00 3`. Throws an error to print. */
export function readFloor(text: string): Floor {
  const [, days, from, until, workersMin] = FLOOR.exec(text.trim()) ?? [];
  if (days === undefined) throw new UsageError(`--floor has '${text}', but takes e.g. 'mon-fri 08:00-18:00 3'`);
  return {
    days: days.toUpperCase().split(',').flatMap(readDays),
    from: from!,
    until: until!,
    workersMin: Number(workersMin),
  };
}

/** `DAILY`, a day, or a range of days, which may go over the weekend. */
function readDays(text: string): Floor['days'] {
  if (text === 'DAILY') return [...WEEK];
  const [first, last = first] = text.split('-');
  const [start, end] = [WEEK.indexOf(first as never), WEEK.indexOf(last as never)];
  if (start < 0 || end < 0) {
    throw new UsageError(`'${text.toLowerCase()}' is not a day or a range of days, such as mon, mon-fri or daily`);
  }
  const length = ((end - start + WEEK.length) % WEEK.length) + 1;
  return Array.from({ length }, (_, i) => WEEK[(start + i) % WEEK.length]!);
}
