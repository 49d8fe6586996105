import { createWriteStream } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { didYouMean } from '../../core/text/closest.ts';
import { counted } from '../../core/text/counted.ts';
import { type ApiClient, ApiRefusal, JobFailed } from '../shared/api-client.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { refuseSpecial } from '../shared/refuse-special.ts';
import { showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

/** A batch as the server returns it. */
export interface Batch {
  id: string;
  status: string;
  name?: string;
  requestTotal: number;
  requestCompleted: number;
  requestFailed: number;
  requestInProgress: number;
  requestRejected: number;
  linesReceived: number;
  createdAt: number;
  reason?: string;
  estimate?: { basedOnRequests: number; executionSeconds: number; costUsd?: number };
}

/** The server's limit. */
const MAX_PAGE = 100;
const POLL_MS = 1_000;
const MAX_TRIES = 5;

const COLUMNS: readonly Column<Batch>[] = [
  ['ID', (r) => r.id],
  ['NAME', (r) => r.name],
  ['STATUS', (r) => r.status],
  ['REQUESTS', (r) => r.requestTotal],
  ['COMPLETED', (r) => r.requestCompleted],
  ['FAILED', (r) => r.requestFailed],
  ['CREATED', (r) => new Date(r.createdAt).toISOString()],
];

/** Returns the id of a batch of an endpoint, by id or by a name that one of its batches has. */
export async function findBatch(client: ApiClient, endpointId: string, idOrName: string): Promise<string> {
  if (/^batch_\w+$/.test(idOrName)) return idOrName;
  const all = await readBatches(client, endpointId, Number.POSITIVE_INFINITY);
  const named = all.filter(({ name }) => name === idOrName).map(({ id }) => id);
  if (named.length === 1) return named[0]!;
  if (named.length > 1) {
    throw new Error(`${named.length} batches are named '${idOrName}': use an id, one of ${named.join(', ')}`);
  }
  const names = all.flatMap(({ name }) => name ?? []);
  throw new ApiRefusal(404, `Batch not found: '${idOrName}'${didYouMean(idOrName, names)}`);
}

export async function listBatches(
  client: ApiClient,
  endpointId: string,
  { limit, json, name }: { limit: number; json?: boolean; name: string },
  output: CliOutput,
): Promise<void> {
  const found = await readBatches(client, endpointId, limit);
  const none = `${name} has no batches. Submit one: \`podyard batch submit <file> --endpoint ${name}\`.`;
  showRecords(found, { columns: COLUMNS, none }, json, output);
}

async function readBatches(client: ApiClient, endpointId: string, count: number): Promise<Batch[]> {
  const found: Batch[] = [];
  let hasMore = true;
  while (hasMore && found.length < count) {
    const limit = Math.min(MAX_PAGE, count - found.length);
    const page = await client.json<{ batches: Batch[]; hasMore: boolean }>(
      'GET',
      `/v2/${endpointId}/batch?offset=${found.length}&limit=${limit}`,
    );
    found.push(...page.batches);
    hasMore = page.hasMore;
  }
  return found;
}

/** Prints a batch; with `wait` at its end, and its progress until then. Throws `JobFailed` if it is not COMPLETED then. */
export async function showBatch(
  client: ApiClient,
  path: string,
  options: { wait?: boolean; json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const batch = options.wait ? await waitForEnd(client, path, output) : await client.json<Batch>('GET', path);
  if (options.json) output.print(jsonText(batch));
  else output.print(`${batch.id}  ${describeBatch(batch)}`);
  if (options.wait && batch.status !== 'COMPLETED') {
    throw new JobFailed(`the batch ended ${batch.status}${batch.reason ? `: ${batch.reason}` : ''}`);
  }
}

async function waitForEnd(client: ApiClient, path: string, { terminal }: CommandOutput): Promise<Batch> {
  for (;;) {
    const batch = await client.json<Batch>('GET', path);
    if (!['DRAFT', 'FINALIZED'].includes(batch.status)) {
      terminal.progress('');
      return batch;
    }
    terminal.progress(describeBatch(batch));
    await sleep(POLL_MS, undefined, { signal: terminal.interrupted });
  }
}

/** Returns one line about how far a batch is. */
export function describeBatch(batch: Batch): string {
  const { status, requestTotal, requestCompleted, requestFailed, requestInProgress, requestRejected } = batch;
  const ended = requestCompleted + requestFailed;
  const share = requestTotal === 0 ? 0 : Math.floor((ended / requestTotal) * 100);
  const parts = [
    `${status}: ${ended} of ${requestTotal} requests ended (${share} %)`,
    ...(requestFailed > 0 ? [`${requestFailed} without a result`] : []),
    ...(requestInProgress > 0 ? [`${requestInProgress} running`] : []),
    ...(requestRejected > 0 ? [`${counted(requestRejected, 'line')} rejected`] : []),
    ...(batch.estimate?.costUsd === undefined ? [] : [`about $${batch.estimate.costUsd} in all`]),
    ...(batch.reason ? [batch.reason] : []),
  ];
  return parts.join(', ');
}

export async function cancelBatch(
  client: ApiClient,
  path: string,
  options: { json?: boolean },
  output: CliOutput,
): Promise<void> {
  const batch = await client.json<Batch>('POST', `${path}/cancel`);
  if (options.json) output.print(jsonText(batch));
  else output.print(`${batch.id}  ${describeBatch(batch)}`);
}

/**
 * Prints the results, or writes them to a file: first to FILE.part, which a later download continues, and under its
 * name once complete. A connection that breaks is opened again.
 */
export async function downloadResults(
  client: ApiClient,
  path: string,
  { output: file }: { output?: string },
  { terminal, note }: CommandOutput,
): Promise<void> {
  if (file === undefined || file === '-') {
    const response = await client.send('GET', `${path}/results`);
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) terminal.write(text);
    return;
  }
  await refuseSpecial(file);
  const batch = await client.json<Batch>('GET', path);
  const hasEnded = !['DRAFT', 'FINALIZED'].includes(batch.status);
  const part = `${file}.${hasEnded ? batch.id : 'partial'}.part`;
  for (let tries = 1; ; tries++) {
    const from = hasEnded ? await sizeOf(part) : 0;
    try {
      await download(client, `${path}/results`, part, from);
      break;
    } catch (error) {
      const isComplete = error instanceof ApiRefusal && error.status === 416;
      if (isComplete) break;
      if (error instanceof ApiRefusal || terminal.interrupted.aborted || tries === MAX_TRIES) throw error;
      note(`The download broke off; continuing at byte ${await sizeOf(part)}.`);
    }
  }
  await rename(part, file);
  note(`${file} has the results${hasEnded ? '' : ' so far: the batch is still running'}.`);
}

async function download(client: ApiClient, path: string, part: string, from: number): Promise<void> {
  const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
  const response = await client.send('GET', path, { headers });
  const flags = response.status === 206 ? 'a' : 'w';
  await pipeline(Readable.fromWeb(response.body! as never), createWriteStream(part, { flags }));
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
