import { didYouMean } from '../../core/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import { present } from '../records/fields.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { listRecords, RECORDS, showRecords, type Wire } from '../shared/records.ts';
import type { Column } from '../terminal/table.ts';

const ms = (times: Wire | null) => times && `${Math.round(times.p50)} / ${Math.round(times.p95)}`;
const COMMON: readonly Column<Wire>[] = [
  ['COLD STARTS', (r) => r.coldStarts],
  [
    'WORKERS',
    (r) =>
      Object.values<number>(r.workers)
        .reduce((sum, count) => sum + count, 0)
        .toFixed(1),
  ],
  ['GPU SECONDS', (r) => Math.round(r.gpuSeconds)],
  ['USD', (r) => r.cost.toFixed(4)],
];
const OF_JOBS: readonly Column<Wire>[] = [
  ['AT', (r) => r.at],
  ['COMPLETED', (r) => r.jobs.completed],
  ['FAILED', (r) => r.jobs.failed + r.jobs.timedOut],
  ['WAIT P50 / P95, MS', (r) => ms(r.waitMs)],
  ['RUN P50 / P95, MS', (r) => ms(r.executionMs)],
  ...COMMON,
];
const OF_REQUESTS: readonly Column<Wire>[] = [
  ['AT', (r) => r.at],
  ['2XX', (r) => r.requests['2xx']],
  ['4XX', (r) => r.requests['4xx']],
  ['5XX', (r) => r.requests['5xx']],
  ['LATENCY P50 / P95, MS', (r) => ms(r.latencyMs)],
  ...COMMON,
];

export interface HistoryOptions {
  range: string;
  step?: string;
  pool?: string;
  json?: boolean;
}

/** Prints a line for each step in which something was done, by the endpoint or, without one, by all or those on the pool. */
export async function showHistory(
  client: ApiClient,
  endpointId: string | null,
  { range, step, pool, json }: HistoryOptions,
  output: CliOutput,
): Promise<void> {
  if (endpointId !== null && pool !== undefined) throw new UsageError('--pool is for all endpoints: name no endpoint');
  const query = new URLSearchParams(present({ range, step, pool }) as Record<string, string>);
  const path = endpointId === null ? '/v2/account/installation/history' : `/v2/serverless/${endpointId}/history`;
  const { points } = await client.call<{ points: Wire[] }>('GET', `${path}?${query}`);
  const hasRequests = points.some(({ requests }) => Object.values<number>(requests).some((count) => count > 0));
  const hasJobs = points.some(({ waitMs, executionMs }) => waitMs !== null || executionMs !== null);
  const further = range === '30d' ? '' : ' `--range 30d` looks further back.';
  const none = `Nothing was done in this time.${further}${pool === undefined ? '' : await whichPool(client, pool)}`;
  showRecords(points, { columns: hasRequests && !hasJobs ? OF_REQUESTS : OF_JOBS, none }, json === true, output);
}

/** A pool that has left the catalog still has a history, so that an unknown one is no error. */
async function whichPool(client: ApiClient, pool: string): Promise<string> {
  const pools = (await listRecords(client, RECORDS.gpus)).flatMap((type) => type.pool ?? []);
  return pools.includes(pool) ? '' : ` The catalog has no pool '${pool}'${didYouMean(pool, pools)}`;
}
