import { UsageError } from '../../core/usage-error.ts';
import { inOneLine } from '../../domain/logs/quote-output.ts';
import { present } from '../records/fields.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { toTime } from './job-list.ts';

export interface LogOptions {
  follow?: boolean;
  tail: number;
  source?: string;
  search?: string;
  level?: string;
  since?: string;
  until?: string;
  json?: boolean;
}

/** Whose log: `place` is the path of an endpoint or a pod; without `worker`, that of all workers of an endpoint. */
export interface LogPlace {
  place: string;
  worker?: string | undefined;
}

interface LogLine {
  source: 'container' | 'system';
  line: string;
  ts: string;
  workerId?: string | null;
}

interface LogPage {
  lines: LogLine[];
  nextCursor: string | null;
  keptSince: string | null;
}

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
  const query = toQuery(options, Date.now());
  const print = (line: LogLine) => printLine(line, log, options, output);
  if (!options.follow) {
    const { lines, keptSince } = await lastLines(client, log, query, options.tail);
    lines.forEach(print);
    const isCut =
      keptSince !== null && query.since !== undefined && lines.length < options.tail && query.since < keptSince;
    if (isCut) output.note(`Lines from before ${keptSince} have been removed: the server keeps no older ones.`);
    else if (lines.length === 0 && options.tail > 0) output.note(noLines(query));
    return;
  }
  const path = log.worker === undefined ? log.place : `${log.place}/workers/${log.worker}`;
  const start = options.since === undefined ? { tail: String(options.tail) } : {};
  for await (const data of client.events(`${path}/logs?${new URLSearchParams({ ...start, ...query })}`)) {
    const line = JSON.parse(data) as LogLine | { searchedTo: string };
    if ('line' in line) print(line);
    else output.note(`Older lines than ${line.searchedTo} were not searched.`);
  }
}

function noLines(query: Record<string, string>): string {
  const isFiltered = Object.keys(query).length > 0;
  return isFiltered ? 'No line matches.' : 'Nothing was logged yet. `--follow` waits for the first line.';
}

/** True if lines are searched: unless a worker is named, in the logs of all of them. */
export function isSearch({ search, level, since, until }: LogOptions): boolean {
  return [search, level, since, until].some((value) => value !== undefined);
}

function toQuery({ source, search, level, since, until }: LogOptions, now: number): Record<string, string> {
  return present({
    source,
    search,
    level: level?.toUpperCase(),
    since: since && toTime(since, now),
    until: until && toTime(until, now),
  }) as Record<string, string>;
}

/** Reads pages until there are `count` lines: one request searches a bounded part of the log. */
async function lastLines(
  client: ApiClient,
  { place, worker }: LogPlace,
  query: Record<string, string>,
  count: number,
): Promise<{ lines: LogLine[]; keptSince: string | null }> {
  const lines: LogLine[] = [];
  let keptSince: string | null = null;
  for (let cursor: string | null = ''; cursor !== null && lines.length < count; ) {
    const limit = String(Math.min(MAX_PAGE, count - lines.length));
    const position = { ...(worker === undefined ? {} : { workerId: worker }), ...(cursor === '' ? {} : { cursor }) };
    const search = new URLSearchParams({ ...query, limit, ...position });
    const page: LogPage = await client.call<LogPage>('GET', `${place}/log-lines?${search}`);
    lines.push(...page.lines);
    cursor = page.nextCursor;
    keptSince = page.keptSince;
  }
  return { lines: lines.toReversed(), keptSince };
}

function printLine(
  line: LogLine,
  { worker }: LogPlace,
  { json }: LogOptions,
  { terminal, screen }: Pick<CommandOutput, 'terminal' | 'screen'>,
): void {
  const text = line.source === 'system' && screen?.hasColors ? `${DIM}${line.line}${PLAIN}` : line.line;
  const from = worker === undefined && line.workerId ? `${line.workerId} ` : '';
  terminal.write(json ? `${jsonText(line, 0)}\n` : `${line.ts} ${from}${text}\n`);
}

interface Workers {
  workers: { id: string; startedAt: string | null }[];
  ended?: { id: string; endedAt: string; reason: string | null }[];
}

/**
 * Returns the worker whose log to show: the newest with a container, else the last that ended, which is then noted with its
 * reason; else one that waits.
 */
export async function findLoggedWorker(client: ApiClient, path: string, output: CliOutput): Promise<string> {
  const { workers, ended = [] } = await client.call<Workers>('GET', `${path}?include=ENDED`);
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
