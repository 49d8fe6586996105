import { UsageError } from '../../core/usage-error.ts';
import { present } from '../records/fields.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { showRecords, type Wire } from '../shared/records.ts';
import type { Column } from '../terminal/table.ts';

/** The server's limit. */
const MAX_PAGE = 100;
export const AGE = /^(\d{1,6})(s|m|h|d)$/;
export const MS_OF_UNIT: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const COLUMNS: readonly Column<Wire>[] = [
  ['ID', (r) => r.id],
  ['STATUS', (r) => r.status],
  ['CREATED', (r) => new Date(r.createdAt).toISOString()],
  ['QUEUED, MS', (r) => r.delayTime],
  ['RAN, MS', (r) => r.executionTime],
  ['WORKER', (r) => r.workerId],
  ['WHY', (r) => whyOf(r)],
];

/** A traceback ends with the error. */
function whyOf({ error }: Wire): string | undefined {
  return error?.trim().split('\n').at(-1);
}

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
export async function showJobs(
  client: ApiClient,
  endpointId: string,
  filter: JobListOptions & { name: string },
  output: CliOutput,
): Promise<void> {
  const now = Date.now();
  const fixed = present({
    status: filter.status?.join(','),
    workerId: filter.worker,
    error: filter.error,
    since: filter.since && toTime(filter.since, now),
    until: filter.until && toTime(filter.until, now),
  }) as Record<string, string>;
  const jobs: Wire[] = [];
  let cursor: string | null | undefined = filter.cursor;
  do {
    const limit = String(Math.min(MAX_PAGE, filter.limit - jobs.length));
    const query = new URLSearchParams({ ...fixed, limit, ...(cursor ? { cursor } : {}) });
    const page = await client.call<Wire>('GET', `/v2/serverless/${endpointId}/requests?${query}`);
    jobs.push(...page.requests);
    cursor = page.nextCursor;
  } while (cursor && jobs.length < filter.limit);
  const none =
    Object.keys(fixed).length > 0
      ? `No job of ${filter.name} matches. Without these options, the list shows all.`
      : `${filter.name} has no jobs. Run one: \`podyard run ${filter.name} '{…}'\`.`;
  showRecords(jobs, { columns: COLUMNS, none }, filter.json === true, output);
  if (cursor) output.note(`There are more: --cursor ${cursor}`);
}

/** Returns the RFC 3339 time that `text`, a time or an age, stands for. */
export function toTime(text: string, now: number): string {
  const [, count, unit] = AGE.exec(text) ?? [];
  const time = new Date(unit === undefined ? text : now - Number(count) * MS_OF_UNIT[unit]!);
  if (Number.isNaN(time.getTime())) {
    throw new UsageError(`'${text}' is neither a time such as 2026-11-20T10:00:00Z nor an age such as 15m`);
  }
  return time.toISOString();
}
