import { readLogRecord } from '../../core/text/log-record.ts';
import { UsageError } from '../../core/usage-error.ts';
import { inOneLine } from '../../domain/logs/quote-output.ts';
import { present } from '../fields/field.ts';
import { type ApiClient, queryText } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { toTime } from '../shared/options.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { isOfJob } from './log-of-job.ts';
import { recordText } from './record-text.ts';

export interface LogOptions {
  follow?: boolean;
  tail: number;
  source?: LogLine['source'];
  search?: string;
  level?: 'debug' | 'info' | 'warn' | 'error';
  since?: string;
  until?: string;
  /** Only lines that do not name another job. */
  job?: string;
  json?: boolean;
}

/** Whose log: without `workerId`, that of all workers of an endpoint. */
export type LogPlace = { podId: string } | { endpointId: string; workerId: string | undefined };

type LogLine = Schemas['LogLines']['lines'][number];
type Filter = ReturnType<typeof filterOf>;

/** The server's limit. */
const MAX_PAGE = 1_000;
const [DIM, PLAIN] = ['\u001b[2m', '\u001b[0m'];

/**
 * Prints the last lines of a log that match; with `--follow`, then new ones as they come. With `json` a JSON object per line.
 */
export async function showLog(
  client: ApiClient,
  log: LogPlace,
  options: LogOptions,
  output: CommandOutput,
): Promise<void> {
  if (options.follow && options.until !== undefined) throw new UsageError('--follow has no end: leave --until out');
  const filter = filterOf(options, Date.now());
  const print = (line: LogLine) => printLine(line, log, options, output);
  if (!options.follow) {
    const { lines, keptSince } = await lastLines(client, log, filter, options);
    lines.forEach(print);
    const isCut =
      keptSince !== null && filter.since !== undefined && lines.length < options.tail && filter.since < keptSince;
    if (isCut) output.note(`Lines from before ${keptSince} have been removed: the server keeps no older ones.`);
    else if (lines.length === 0 && options.tail > 0) output.note(noLines(filter));
    return;
  }
  const start = options.since === undefined ? { tail: options.tail } : {};
  for await (const data of client.events(`${pathOf(log)}/logs${queryText({ ...start, ...filter })}`)) {
    const line = JSON.parse(data) as LogLine | { searchedTo: string };
    if ('line' in line) {
      if (isWanted(line, options)) print(line);
    } else output.note(`Older lines than ${line.searchedTo} were not searched.`);
  }
}

function pathOf(log: LogPlace): string {
  if ('podId' in log) return `/v2/pods/${log.podId}`;
  const { endpointId, workerId } = log;
  return `/v2/serverless/${endpointId}${workerId === undefined ? '' : `/workers/${workerId}`}`;
}

function noLines(filter: Filter): string {
  const isFiltered = Object.keys(filter).length > 0;
  return isFiltered ? 'No lines match.' : 'Nothing was logged yet. `--follow` waits for the first line.';
}

/** True if lines are searched: unless a worker is named, in the logs of all of them. */
export function isSearch({ search, level, since, until }: LogOptions): boolean {
  return [search, level, since, until].some((value) => value !== undefined);
}

function filterOf({ source, search, level, since, until }: LogOptions, now: number) {
  return present({
    source,
    search,
    level: level?.toUpperCase() as Uppercase<NonNullable<LogOptions['level']>> | undefined,
    since: since && toTime(since, now),
    until: until && toTime(until, now),
  });
}

/** Reads pages until there are `count` lines that are wanted: one request searches a bounded part of the log. */
async function lastLines(
  client: ApiClient,
  log: LogPlace,
  filter: Filter,
  options: LogOptions,
): Promise<{ lines: LogLine[]; keptSince: string | null }> {
  const { tail: count, job } = options;
  const lines: LogLine[] = [];
  let keptSince: string | null = null;
  for (let cursor: string | null = ''; cursor !== null && lines.length < count; ) {
    const limit = job === undefined ? Math.min(MAX_PAGE, count - lines.length) : MAX_PAGE; // others may be among them
    const page = await readPage(client, log, { ...filter, limit, ...(cursor !== '' && { cursor }) });
    lines.push(...page.lines.filter((line) => isWanted(line, options)));
    cursor = page.nextCursor;
    keptSince = page.keptSince;
  }
  return { lines: lines.slice(0, count).toReversed(), keptSince };
}

function isWanted({ line }: LogLine, { job }: LogOptions): boolean {
  return job === undefined || isOfJob(line, job);
}

function readPage(
  client: ApiClient,
  log: LogPlace,
  query: Filter & { limit: number; cursor?: string },
): Promise<Schemas['LogLines']> {
  if ('podId' in log) return client.call('get', '/v2/pods/{id}/log-lines', { path: { id: log.podId }, query });
  return client.call('get', '/v2/serverless/{id}/log-lines', {
    path: { id: log.endpointId },
    query: { ...query, ...present({ workerId: log.workerId }) },
  });
}

function printLine(
  line: LogLine,
  log: LogPlace,
  { json }: LogOptions,
  { terminal, screen }: Pick<CommandOutput, 'terminal' | 'screen'>,
): void {
  if (json) {
    terminal.write(`${jsonText(line, 0)}\n`);
    return;
  }
  const record = line.source === 'container' ? readLogRecord(line.line) : null;
  const hasColors = screen?.hasColors ?? false;
  const text = line.source === 'system' && hasColors ? `${DIM}${line.line}${PLAIN}` : line.line;
  const isOfAll = 'endpointId' in log && log.workerId === undefined;
  const from = isOfAll && line.workerId ? `${line.workerId} ` : '';
  terminal.write(`${line.ts} ${from}${record === null ? text : recordText(record, hasColors)}\n`);
}

/**
 * Returns the worker whose log to show: the newest with a container, else the last that ended, which is then noted with its
 * reason; else one that waits.
 */
export async function findLoggedWorker(client: ApiClient, endpointId: string, output: CliOutput): Promise<string> {
  const request = { path: { id: endpointId }, query: { include: 'ENDED' } };
  const { workers, ended = [] } = await client.call('get', '/v2/serverless/{id}/workers', request);
  const running = workers.findLast(({ startedAt }) => startedAt !== null);
  if (running) return running.id;
  const [last] = ended;
  if (last) {
    output.note(
      `No worker is running. Worker ${last.id} ended at ${last.endedAt}: ${inOneLine(last.reason ?? 'no reason known')}`,
    );
    return last.id;
  }
  const waiting = workers.at(-1);
  if (!waiting)
    throw new Error('no worker is running, and none has ended within 24 hours: a job or request starts one');
  return waiting.id;
}
