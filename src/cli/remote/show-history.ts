import type { CliOutput } from '../cli-pieces.ts';
import type { Column } from '../table.ts';
import type { ApiClient } from './api-client.ts';
import { showRecords, type Wire } from './records.ts';

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

/** Prints what an endpoint did: a line for each step in which it did something. */
export async function showHistory(
  client: ApiClient,
  endpointId: string,
  { range, step, json }: { range: string; step?: string; json?: boolean },
  output: CliOutput,
): Promise<void> {
  const query = new URLSearchParams({ range, ...(step === undefined ? {} : { step }) });
  const { points } = await client.call<{ points: Wire[] }>('GET', `/v2/serverless/${endpointId}/history?${query}`);
  const hasRequests = points.some(({ latencyMs }) => latencyMs !== null);
  showRecords(points, hasRequests ? OF_REQUESTS : OF_JOBS, json === true, output);
}
