/** Tables of an endpoint's workers, releases, scaling decisions and history. */

import { didYouMean } from '../../core/text/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import { inOneLine } from '../../domain/logs/quote-output.ts';
import { present } from '../fields/field.ts';
import { CATALOG, type Named } from '../records/kinds.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { listText, shortReason, showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';
import { shortDigest } from './image-news.ts';

interface Json {
  json?: boolean;
}

const WORKER_COLUMNS: readonly Column<Schemas['Worker']>[] = [
  ['ID', (r) => r.id],
  ['STATUS', (r) => r.status],
  ['VERSION', (r) => (r.isStale ? `${r.version} (old)` : r.version)],
  ['GPU', (r) => (r.gpuTypeId ? `${r.gpuCount} x ${r.gpuTypeId}` : '-')],
  ['DATA CENTER', (r) => r.dataCenterId ?? '-'],
  ['UP, S', (r) => r.uptimeSeconds ?? '-'],
  ['WHY', (r) => shortReason(r.reason)],
];

const ENDED_WORKER_COLUMNS: readonly Column<Schemas['EndedWorker']>[] = [
  ['ID', (r) => r.id],
  ['ENDED', (r) => r.endedAt],
  ['VERSION', (r) => r.version],
  ['UP, S', (r) => r.uptimeSeconds ?? '-'],
  ['EXIT', (r) => r.exitCode ?? '-'],
  ['LOST', (r) => (r.lost ? 'yes' : 'no')],
  ['WHY', (r) => shortReason(r.reason)],
];

/** Prints the workers of an endpoint, or those that ended. */
export async function showWorkers(
  client: ApiClient,
  { id, name }: Named,
  { ended, json }: Json & { ended?: boolean },
  output: CliOutput,
): Promise<void> {
  const query = ended ? { include: 'ENDED' } : {};
  const found = await client.call('get', '/v2/serverless/{id}/workers', { path: { id }, query });
  if (ended) {
    const none = `No worker has ended within 24 hours. \`podyard workers ${name}\` lists those that run.`;
    return showRecords(found.ended ?? [], { columns: ENDED_WORKER_COLUMNS, none }, json, output);
  }
  const none = `No worker runs; work starts one. \`podyard decisions ${name}\` says why there are as many as there are.`;
  showRecords(found.workers, { columns: WORKER_COLUMNS, none }, json, output);
}

type ReleaseWithImage = Schemas['Release'] & { image?: Schemas['ReleaseImage'] };

const RELEASE_COLUMNS: readonly Column<ReleaseWithImage>[] = [
  ['VERSION', (r) => r.version],
  ['ID', (r) => r.id],
  ['WORKERS', (r) => r.workerCount],
  ['CREATED', (r) => r.createdAt],
  ['IMAGE', (r) => r.image?.image ?? '-'],
  ['DIGEST', (r) => shortDigest(r.image?.digest)],
  ['CHANGED', (r) => listText(r.diff.map(({ field }) => field))],
  ['PROBLEM', (r) => shortReason(r.image?.problem ?? null)],
];

export async function showReleases(client: ApiClient, id: string, { json }: Json, output: CliOutput): Promise<void> {
  const path = { id };
  const [{ releases }, { images }] = await Promise.all([
    client.call('get', '/v2/serverless/{id}/releases', { path }),
    client.call('get', '/v2/serverless/{id}/release-images', { path }),
  ]);
  const imageOf = new Map(images.map((image) => [image.releaseId, image]));
  const records = releases.map((release): ReleaseWithImage => {
    const image = imageOf.get(release.id);
    return { ...release, ...(image && { image }) };
  });
  const hasProblem = images.some(({ problem }) => problem !== null);
  const columns = hasProblem ? RELEASE_COLUMNS : RELEASE_COLUMNS.filter(([title]) => title !== 'PROBLEM');
  showRecords(records, { columns, none: 'There are no releases.' }, json, output);
}

const DECISION_COLUMNS: readonly Column<Schemas['DecisionList']['decisions'][number]>[] = [
  ['AT', (r) => r.at],
  ['WANTED', (r) => r.wanted],
  ['WHY', (r) => inOneLine(r.reason)],
];

export async function showDecisions(
  client: ApiClient,
  { id, name }: Named,
  { json }: Json,
  output: CliOutput,
): Promise<void> {
  const { decisions } = await client.call('get', '/v2/serverless/{id}/decisions', { path: { id } });
  const none = `Nothing was decided yet: the first job or request of ${name} starts a worker.`;
  showRecords(decisions, { columns: DECISION_COLUMNS, none }, json, output);
}

type Point = Schemas['History']['points'][number];

const ms = (times: Point['waitMs']) => times && `${Math.round(times.p50)} / ${Math.round(times.p95)}`;
const COMMON: readonly Column<Point>[] = [
  ['COLD STARTS', (r) => r.coldStarts],
  [
    'WORKERS',
    (r) =>
      Object.values(r.workers)
        .reduce((sum, count) => sum + count, 0)
        .toFixed(1),
  ],
  ['GPU SECONDS', (r) => Math.round(r.gpuSeconds)],
  ['USD', (r) => r.cost.toFixed(4)],
];
const JOB_COLUMNS: readonly Column<Point>[] = [
  ['AT', (r) => r.at],
  ['COMPLETED', (r) => r.jobs.completed],
  ['FAILED', (r) => r.jobs.failed + r.jobs.timedOut],
  ['WAIT P50 / P95, MS', (r) => ms(r.waitMs)],
  ['RUN P50 / P95, MS', (r) => ms(r.executionMs)],
  ...COMMON,
];
const REQUEST_COLUMNS: readonly Column<Point>[] = [
  ['AT', (r) => r.at],
  ['2XX', (r) => r.requests['2xx']],
  ['4XX', (r) => r.requests['4xx']],
  ['5XX', (r) => r.requests['5xx']],
  ['LATENCY P50 / P95, MS', (r) => ms(r.latencyMs)],
  ...COMMON,
];

export interface HistoryOptions extends Json {
  range: Schemas['History']['range'];
  step?: string;
  pool?: string;
}

/** Prints a line for each step in which something was done, by the endpoint or, without one, by all or those on the pool. */
export async function showHistory(
  client: ApiClient,
  id: string | null,
  { range, step, pool, json }: HistoryOptions,
  output: CliOutput,
): Promise<void> {
  if (id !== null && pool !== undefined) throw new UsageError('--pool is for all endpoints: name no endpoint');
  const query = present({ range, step: step === undefined ? undefined : (Number(step) as 60) });
  const { points } =
    id === null
      ? await client.call('get', '/v2/account/installation/history', { query: { ...query, ...present({ pool }) } })
      : await client.call('get', '/v2/serverless/{id}/history', { path: { id }, query });
  const hasRequests = points.some(({ requests }) => Object.values(requests).some((count) => count > 0));
  const hasJobs = points.some(({ waitMs, executionMs }) => waitMs !== null || executionMs !== null);
  const further = range === '30d' ? '' : ' `--range 30d` looks further back.';
  const none = `Nothing was done in this time.${further}${pool === undefined ? '' : await hintAtPool(client, pool)}`;
  showRecords(points, { columns: hasRequests && !hasJobs ? REQUEST_COLUMNS : JOB_COLUMNS, none }, json, output);
}

/** An unknown pool is not an error: one that has left the catalog still has a history. */
async function hintAtPool(client: ApiClient, pool: string): Promise<string> {
  const pools = (await CATALOG.gpus.rows(client)).flatMap((type) => type.pool ?? []);
  return pools.includes(pool) ? '' : ` The catalog has no pool '${pool}'${didYouMean(pool, pools)}`;
}
