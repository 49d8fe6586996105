import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readOptions } from '../options.ts';
import { Latencies, type Percentiles } from '../queue/latencies.ts';
import type { WorkerIdentity } from '../queue/players.ts';
import { createEndpoint, KEY, type Podyard, registerWorkers, startPodyard } from '../queue/podyard.ts';
import { startPostgres } from '../queue/postgres.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, writeResults } from '../results.ts';

const UPLOADER = fileURLToPath(new URL('./upload.ts', import.meta.url));
const WORKERS = 16;
const JOBS_PER_SECOND = 100;
const RSS_EVERY_MS = 100;
const WARM_UP_MS = 5_000;

interface Round {
  /** Interactive jobs, from the request to their result: during the upload and in its pauses. */
  during: Percentiles;
  between: Percentiles;
  uploadSeconds: number;
  requestsPerSecond: number;
  rssMb: { before: number; peak: number };
}

/** `node bench/main.ts batches`: see bench/README.md. Prints a table, writes JSON. */
export async function benchBatches(args: string[]): Promise<void> {
  const values = readOptions(args, {
    requests: { type: 'string', default: '1000000' },
    bytes: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '2' },
    pieces: { type: 'string', default: '10' },
  });
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  const startedAt = new Date().toISOString();
  const rounds: Round[] = [];
  try {
    const databaseUrl = await postgres.createDatabase('batches');
    const podyard = await startPodyard({ dataDir: join(tempDir, 'podyard'), databaseUrl });
    try {
      const endpointId = await createEndpoint(podyard);
      const players = new Players(podyard, endpointId, await registerWorkers(databaseUrl, endpointId, WORKERS));
      players.start();
      await sleep(WARM_UP_MS);
      for (let round = 0; round < Number(values.rounds); round++) {
        const [requests, bytes, pieces] = [values.requests, values.bytes, values.pieces].map(Number);
        rounds.push(
          await playRound(podyard, players, { endpointId, requests: requests!, bytes: bytes!, pieces: pieces! }),
        );
      }
      await players.stop();
    } finally {
      await podyard.stop();
    }
    process.stdout.write(renderTable([HEADINGS, ...rounds.map(toRow)]));
    await writeResults('batches', { startedAt, machine: describeMachine(tempDir), rounds } as { startedAt: string });
  } finally {
    await postgres.stop();
    await rm(tempDir, { recursive: true, force: true });
  }
}

const HEADINGS = ['requests/s', 'seconds', 'RSS MB', 'peak', 'p50 alone', 'during', 'p99 alone', 'during', 'ratio'];

function toRow({ during, between, uploadSeconds, requestsPerSecond, rssMb }: Round): string[] {
  return [
    ...[requestsPerSecond.toFixed(0), uploadSeconds.toFixed(1), rssMb.before.toFixed(0), rssMb.peak.toFixed(0)],
    ...[between.p50, during.p50, between.p99, during.p99].map((ms) => ms.toFixed(1)),
    (during.p99 / between.p99).toFixed(2),
  ];
}

/** Uploads in pieces with pauses of the same length, so that what else happens on the machine affects both alike. */
async function playRound(
  podyard: Podyard,
  players: Players,
  { endpointId, requests, bytes, pieces }: { endpointId: string; requests: number; bytes: number; pieces: number },
): Promise<Round> {
  const batch = await call(podyard.clientUrl, 'POST', `/v2/${endpointId}/batch`, KEY, '[]');
  const { id } = JSON.parse(batch.text) as { id: string };
  const rssMb = { before: usageOfTree(podyard.pid).rssMb, peak: 0 };
  const watching = setInterval(() => {
    rssMb.peak = Math.max(rssMb.peak, usageOfTree(podyard.pid).rssMb);
  }, RSS_EVERY_MS);
  const [during, between] = [new Latencies(), new Latencies()];
  const count = Math.floor(requests / pieces);
  let uploadSeconds = 0;
  for (let piece = 0; piece < pieces; piece++) {
    players.latencies = during;
    const url = `${podyard.clientUrl}/v2/${endpointId}/batch/${id}/requests?offset=${piece * count}`;
    const seconds = await upload(url, count, bytes);
    uploadSeconds += seconds;
    players.latencies = between;
    await sleep(seconds * 1000);
  }
  players.latencies = null;
  clearInterval(watching);
  const requestsPerSecond = (pieces * count) / uploadSeconds;
  return {
    ...{ during: during.percentiles()!, between: between.percentiles()! },
    ...{ uploadSeconds, requestsPerSecond, rssMb },
  };
}

/** Returns how long it took, in seconds. */
async function upload(url: string, count: number, bytes: number): Promise<number> {
  const args = [UPLOADER, '--url', url, '--key', KEY, '--count', String(count), '--bytes', String(bytes)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { status, seconds, answer } = JSON.parse(stdout);
  if (status !== 200 || answer.accepted !== count) throw new Error(`the upload ended with ${stdout}`);
  return seconds;
}

/** Workers that answer at once, and clients that send a job at fixed times and wait for its result. */
class Players {
  readonly #podyard: Podyard;
  readonly #endpointId: string;
  readonly #workers: readonly WorkerIdentity[];
  /** Where latencies of jobs that begin now go; null: nowhere. */
  latencies: Latencies | null = null;
  #isStopping = false;
  #sending: NodeJS.Timeout | undefined;
  #running: Promise<unknown>[] = [];

  constructor(podyard: Podyard, endpointId: string, workers: readonly WorkerIdentity[]) {
    this.#podyard = podyard;
    this.#endpointId = endpointId;
    this.#workers = workers;
  }

  start(): void {
    this.#running = this.#workers.map((worker) => this.#work(worker));
    this.#sending = setInterval(() => void this.#send(), 1000 / JOBS_PER_SECOND);
  }

  async stop(): Promise<void> {
    clearInterval(this.#sending);
    this.#isStopping = true;
    agent.destroy();
    await Promise.allSettled(this.#running);
  }

  async #send(): Promise<void> {
    const { latencies } = this;
    const sentAt = performance.now();
    const path = `/v2/${this.#endpointId}/runsync`;
    const { status } = await call(this.#podyard.clientUrl, 'POST', path, KEY, '{"input":1}').catch(() => ({
      status: 0,
    }));
    if (status === 200) latencies?.add(performance.now() - sentAt);
  }

  async #work({ id, token }: WorkerIdentity): Promise<void> {
    const { workerUrl } = this.#podyard;
    const base = `/v2/${this.#endpointId}`;
    while (!this.#isStopping) {
      const taken = await call(workerUrl, 'GET', `${base}/job-take/${id}`, token).catch(() => undefined);
      if (taken?.status !== 200) continue;
      const job = JSON.parse(taken.text) as { id: string };
      await call(workerUrl, 'POST', `${base}/job-done/${id}/${job.id}`, token, '{"output":1}').catch(() => {});
    }
  }
}

const agent = new Agent({ keepAlive: true });

function call(
  url: string,
  method: string,
  path: string,
  key: string,
  body?: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: key,
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
    };
    const req = request(url + path, { method, headers, agent }, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk));
      res.on('end', () => resolve({ status: res.statusCode!, text }));
      res.on('error', reject);
    });
    req.on('error', reject);
    req.end(body);
  });
}
