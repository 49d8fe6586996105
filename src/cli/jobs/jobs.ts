/** Lists, shows, cancels, retries and purges jobs of an endpoint. */
import { counted } from '../../core/text/counted.ts';
import { jobErrorHead, jobErrorText } from '../../core/text/job-error.ts';
import { present } from '../fields/field.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { type ConfirmOptions, confirmDeletion } from '../shared/command-shape.ts';
import { toTime } from '../shared/options.ts';
import { FIELD_COLUMNS, showRecords } from '../shared/show-records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { type CalledJob, formatOutput } from './follow-job.ts';

/** The server's limit. */
const MAX_PAGE = 100;

type ListedJob = Schemas['JobList']['requests'][number];

const COLUMNS: readonly Column<ListedJob>[] = [
  ['ID', (r) => r.id],
  ['STATUS', (r) => r.status],
  ['CREATED', (r) => new Date(r.createdAt).toISOString()],
  ['QUEUED, MS', (r) => r.delayTime],
  ['RAN, MS', (r) => r.executionTime],
  ['WORKER', (r) => r.workerId],
  ['WHY', (r) => r.error && jobErrorHead(r.error)],
];

export interface JobListOptions {
  status?: string[];
  worker?: string;
  error?: string;
  since?: string;
  until?: string;
  limit: number;
  cursor?: string;
  json?: boolean;
}

/** Prints an endpoint's jobs, and says on stderr how to continue if there are more. */
export async function listJobs(
  client: ApiClient,
  { id, name }: { id: string; name: string },
  options: JobListOptions,
  output: CliOutput,
): Promise<void> {
  const now = Date.now();
  const filter = present({
    status: options.status?.join(','),
    workerId: options.worker,
    error: options.error,
    since: options.since && toTime(options.since, now),
    until: options.until && toTime(options.until, now),
  });
  const jobs: ListedJob[] = [];
  let cursor: string | null | undefined = options.cursor;
  do {
    const limit = Math.min(MAX_PAGE, options.limit - jobs.length);
    const query = { ...filter, limit, ...(cursor ? { cursor } : {}) };
    const page: Schemas['JobList'] = await client.call('get', '/v2/serverless/{id}/requests', { path: { id }, query });
    jobs.push(...page.requests);
    cursor = page.nextCursor;
  } while (cursor && jobs.length < options.limit);
  const none =
    Object.keys(filter).length > 0
      ? `No job of ${name} matches. Without these options, the list shows all.`
      : `${name} has no jobs. Run one: \`podyard run ${name} '{…}'\`.`;
  showRecords(jobs, { columns: COLUMNS, none }, options.json, output);
  if (cursor) output.note(`There are more: --cursor ${cursor}`);
}

type JobDetail = Schemas['JobDetail'];
type Attempt = JobDetail['attempts'][number];

const STAGE_COLUMNS: readonly Column<Attempt & Attempt['stages'][number]>[] = [
  ['ATTEMPT', (r) => r.attempt],
  ['STAGE', (r) => r.stage],
  ['FROM', (r) => r.from],
  ['MS', (r) => r.ms],
  ['WORKER', (r) => r.workerId],
  ['WHY', (r) => r.reason],
];
const TRY_COLUMNS: readonly Column<NonNullable<JobDetail['webhook']>['tries'][number]>[] = [
  ['WEBHOOK TRIED', (r) => r.at],
  ['STATUS', (r) => r.status],
  ['ERROR', (r) => r.error],
];

/** Prints a job in sections, or one of its payloads alone. */
export async function showJob(
  client: ApiClient,
  { endpointId: id, id: jobId }: CalledJob,
  options: { input?: boolean; output?: boolean; json?: boolean },
  output: CommandOutput,
): Promise<void> {
  for (const payload of ['input', 'output'] as const) {
    if (options[payload]) {
      return printPayload(client, `/v2/serverless/${id}/requests/${encodeURIComponent(jobId)}/${payload}`, output);
    }
  }
  const job = await client.call('get', '/v2/serverless/{id}/requests/{jobId}', { path: { id, jobId } });
  if (options.json) return void output.print(jsonText(job));
  const stages = job.attempts.flatMap((attempt) => attempt.stages.map((stage) => ({ ...attempt, ...stage })));
  const tries = job.webhook?.tries ?? [];
  const sections = [
    formatTable(FIELD_COLUMNS, fieldsOf(job), output.screen),
    ...(stages.length > 0 ? [formatTable(STAGE_COLUMNS, stages, output.screen)] : []),
    ...(tries.length > 0 ? [formatTable(TRY_COLUMNS, tries, output.screen)] : []),
    ...(job.error ? [`ERROR\n${jobErrorText(job.error)}`] : []),
    ...payloadOf('input', job),
    ...payloadOf('output', job),
  ];
  output.print(sections.join('\n\n'));
}

function fieldsOf({ wait, webhook, ...job }: JobDetail): [name: string, value: unknown][] {
  const plain = Object.entries(job).filter(
    ([name, value]) => !['attempts', 'error', 'input', 'output'].includes(name) && typeof value !== 'object',
  );
  if (wait) plain.push(['waits for', wait.text], ['jobs ahead', wait.ahead]);
  if (webhook) plain.push(['webhook', `${webhook.state}, ${webhook.url}`]);
  return plain;
}

function payloadOf(name: 'input' | 'output', job: JobDetail): string[] {
  if (name in job) return [`${name.toUpperCase()}\n${formatOutput(job[name])}`];
  const bytes = job[`${name}Bytes`];
  return bytes ? [`${name.toUpperCase()}\n${bytes} bytes: \`podyard jobs get … --${name}\` prints it`] : [];
}

async function printPayload(client: ApiClient, path: string, { terminal }: CommandOutput): Promise<void> {
  const response = await client.send('GET', path);
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) terminal.write(text);
  terminal.write('\n');
}

/** Cancels or retries a job, and prints its state. */
export async function actOnJob(
  client: ApiClient,
  { endpointId, id }: CalledJob,
  action: 'cancel' | 'retry',
  { json }: { json?: boolean },
  output: CliOutput,
): Promise<void> {
  const path = `/v2/${endpointId}/${action}/${encodeURIComponent(id)}`;
  const job = await client.json<{ id: string; status: string }>('POST', path);
  output.print(json ? jsonText(job) : `${job.id}  ${job.status}`);
}

/** Cancels the queued jobs of an endpoint, after asking for its name, and says how many. */
export async function purgeQueue(
  client: ApiClient,
  { id, name }: { id: string; name: string },
  options: ConfirmOptions & { json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const { jobs } = await client.json<{ jobs: { inQueue: number } }>('GET', `/v2/${id}/health`);
  await confirmDeletion(
    output,
    { what: `${counted(jobs.inQueue, 'queued job')} of ${name} (${id})`, name, id },
    options,
  );
  const purged = await client.json<{ removed: number }>('POST', `/v2/${id}/purge-queue`);
  if (options.json) output.print(jsonText(purged));
  else output.note(`Cancelled ${counted(purged.removed, 'queued job')} of ${name}.`);
}
