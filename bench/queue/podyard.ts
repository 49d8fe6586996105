import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { WorkerIdentity } from './players.ts';
import { query } from './postgres.ts';
import { type Program, startProgram } from './program.ts';

export const KEY = 'bench_key_0123456789abcdef0123456789abcdef';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = `${ROOT}src/main.ts`;
/** As `npm start` sets it. */
const COMPILE_CACHE = `${ROOT}node_modules/.cache/podyard`;
const READY = /Podyard is ready at (http:\S+)/;
/** No scaler runs here. A large maximum keeps the queue limit (500 jobs per worker) out of the way. */
const WORKERS_MAX = 100_000;

export interface Podyard extends Program {
  clientUrl: string;
  workerUrl: string;
}

export function isPodyardAvailable(): boolean {
  return existsSync(MAIN);
}

/**
 * Starts Podyard from source. With a `databaseUrl` it runs without control, so that nothing stops the workers the benchmark
 * registers; without one it runs complete, with the embedded PostgreSQL.
 */
export async function startPodyard(options: {
  dataDir: string;
  databaseUrl?: string;
  /** How many processes serve the port; default: one. */
  dataProcesses?: number;
  withNpm?: boolean;
  nodeArgs?: string[];
  env?: Record<string, string>;
}): Promise<Podyard> {
  const workerPort = await findFreePort();
  const flags = ['--port', '0', '--data-dir', options.dataDir, '--runtime', 'simulated', '--log-level', 'warn'];
  if (options.databaseUrl) flags.push('--roles', 'api,data');
  if (options.dataProcesses) flags.push('--data-processes', String(options.dataProcesses));
  const program = await startProgram({
    command: options.withNpm ? 'npm' : process.execPath,
    args: options.withNpm
      ? ['--prefix', ROOT, 'start', '--', ...flags]
      : ['--max-semi-space-size=16', ...(options.nodeArgs ?? []), MAIN, 'serve', ...flags],
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      PODYARD_ADMIN_KEY: KEY,
      PODYARD_RATE_LIMIT: 'off',
      PODYARD_WORKER_API_PORT: String(workerPort),
      ...(options.databaseUrl && { DATABASE_URL: options.databaseUrl }),
      ...options.env,
    },
    ready: READY,
  });
  return { ...program, clientUrl: program.readyAt, workerUrl: `http://127.0.0.1:${workerPort}` };
}

/** Creates an endpoint over REST, whose queue no limit of the user ends. */
export async function createEndpoint(podyard: Podyard): Promise<string> {
  await fetch(`${podyard.clientUrl}/v2/account/installation/limits`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ workers: null, queuedJobs: null, queuedBytes: null }),
  });
  const response = await fetch(`${podyard.clientUrl}/v2/serverless`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'bench',
      image: 'bench/worker:1',
      gpu: { pools: ['ADA_24'] },
      workers: { min: 0, max: WORKERS_MAX },
    }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`create endpoint returned ${response.status} ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}

/** Registers workers as rows. They have no containers: the load generator plays them. */
export async function registerWorkers(
  databaseUrl: string,
  endpointId: string,
  count: number,
): Promise<WorkerIdentity[]> {
  const workers = Array.from({ length: count }, (_, i) => ({
    endpointId,
    id: `bench${endpointId}${i}`,
    token: `pyw_bench-${endpointId}-${i}`,
  }));
  await query(
    databaseUrl,
    `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, phase, token_hash, spec)
     select w.id, e.id, e.user_id, e.version, 'RUN', 'bench', 'RUNNING', w.token_hash, '{}'
     from unnest($2::text[], $3::bytea[]) as w(id, token_hash), endpoints e where e.id = $1`,
    [
      endpointId,
      workers.map((worker) => worker.id),
      workers.map((worker) => createHash('sha256').update(worker.token).digest()),
    ],
  );
  return workers;
}

/**
 * Inserts jobs of 1 KiB into the queue by SQL, oldest first, and vacuums, as autovacuum would have after a backlog that grew
 * slowly.
 */
export async function fillQueue(databaseUrl: string, endpointId: string, count: number): Promise<void> {
  await query(
    databaseUrl,
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
     select '01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0') || '-u1', $1, 'IN_QUEUE', false, false,
            '{"n":' || n || ',"text":"' || repeat('The quick brown fox jumps over the lazy dog. ', 22) || '"}',
            now() + interval '1 day', false
     from generate_series(1, $2::integer) n order by n`,
    [endpointId, count],
  );
  await query(databaseUrl, `insert into endpoint_counters (endpoint_id, lane, queued) values ($1, 'bench', $2)`, [
    endpointId,
    count,
  ]);
  await query(databaseUrl, 'vacuum analyze jobs');
  await query(databaseUrl, 'checkpoint');
}

/** Empties the queue. */
export async function purgeQueue(clientUrl: string, endpointId: string): Promise<void> {
  const response = await fetch(`${clientUrl}/v2/${endpointId}/purge-queue`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}` },
  });
  if (response.status !== 200) throw new Error(`purge-queue returned ${response.status} ${await response.text()}`);
  await response.body?.cancel();
}

/** Returns a port that was free a moment ago. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
