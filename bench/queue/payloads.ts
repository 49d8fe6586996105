import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type EndpointId, newId, newJobId, type WorkerId } from '../../src/core/ids.ts';
import { migrate } from '../../src/db/migrate.ts';
import { createPool, type Pool } from '../../src/db/pool.ts';
import { JobQueue, QUEUE_SETTINGS } from '../../src/domain/jobs/job-queue.ts';
import { median } from '../median.ts';
import { type PostgresServer, query } from './postgres.ts';
import { usageOfTree } from './process-usage.ts';

/** The database's cost of a job with an input and an output of this size. */
export interface PayloadRun {
  kind: 'text' | 'base64';
  bytes: number;
  stored: PayloadCost;
  /** The peer: the same tables with PostgreSQL's default, pglz. */
  pglz: PayloadCost;
}

interface PayloadCost {
  ms: number;
  cpuMs: number;
  walKb: number;
}

const SIZES = [
  { bytes: 1_024, jobs: 400 },
  { bytes: 20_000, jobs: 300 },
  { bytes: 200_000, jobs: 60 },
  { bytes: 1_000_000, jobs: 16 },
];
const PAYLOADS = ['jobs.input', ...['input', 'output', 'error'].map((name) => `finished_jobs_default.${name}`)];
/** Two at a time: as many as are stored together when the lanes are free. */
const AT_ONCE = 2;

/** Submits jobs, stores their results and reads them, as payloads are stored and as PostgreSQL would, in turns. */
export async function measurePayloads(postgres: PostgresServer, options: { rounds: number }): Promise<PayloadRun[]> {
  const stored = await prepare(await postgres.createDatabase('payloads'));
  const pglz = await prepare(await postgres.createDatabase('payloads_pglz'));
  await setToPglz(pglz.pool);
  try {
    const runs: PayloadRun[] = [];
    for (const { bytes, jobs } of SIZES) {
      for (const kind of ['text', 'base64'] as const) {
        const payloads = Array.from({ length: jobs }, () => (kind === 'text' ? text(bytes) : base64(bytes)));
        const rounds: { stored: PayloadCost; pglz: PayloadCost }[] = [];
        for (let round = 0; round < options.rounds; round++) {
          rounds.push({
            stored: await play(stored, payloads, postgres.pid),
            pglz: await play(pglz, payloads, postgres.pid),
          });
        }
        runs.push({
          kind,
          bytes,
          stored: medianOf(rounds.map((one) => one.stored)),
          pglz: medianOf(rounds.map((one) => one.pglz)),
        });
      }
    }
    return runs;
  } finally {
    await Promise.all([stored.pool.end(), pglz.pool.end()]);
  }
}

interface Side {
  url: string;
  pool: Pool;
  queue: JobQueue;
  endpointId: EndpointId;
}

async function prepare(url: string): Promise<Side> {
  const pool = createPool({ databaseUrl: url, applicationName: 'bench', maxConnections: 4, settings: QUEUE_SETTINGS });
  await migrate(pool);
  const endpointId = newId<EndpointId>();
  await pool.query("insert into users (id, name) values ('bench', 'bench')");
  await pool.query(
    `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, workers_min, workers_max,
       scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
     values ($1, 'bench', 'bench', 'QUEUE_BASED', 'i', '', 1, '{}', '{}', 0, 3, 'QUEUE_DELAY', 4, 5, '{}', '{}', 0, 'OFF', 1)`,
    [endpointId],
  );
  const limits = { resultRetentionMs: 60_000, syncResultRetentionMs: 60_000 };
  return { url, pool, queue: new JobQueue({ pool, processId: newId(8), limits }), endpointId };
}

async function setToPglz(pool: Pool): Promise<void> {
  for (const payload of PAYLOADS) {
    const [table, column] = payload.split('.');
    await pool.query(`alter table ${table} alter ${column} set storage extended, alter ${column} set compression pglz`);
  }
}

async function play(
  { url, pool, queue, endpointId }: Side,
  payloads: string[],
  serverPid: number,
): Promise<PayloadCost> {
  const workerId = 'bench' as WorkerId;
  const runJob = async (n: number) => {
    const id = newJobId('', Date.now());
    const job = { ...NO_OPTIONS, id, endpointId, workerId, input: payloads[n]! };
    await queue.submit(job);
    await queue.finish({ jobId: id, workerId, status: 'COMPLETED', output: payloads.at(-1 - n)!, error: null });
    await queue.readResult(id);
  };
  const [walBefore, cpuBefore] = [await readWal(url), usageOfTree(serverPid).cpuSeconds];
  const startedAt = performance.now();
  for (let n = 0; n < payloads.length; n += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, more) => runJob(n + more)));
  }
  const ms = performance.now() - startedAt;
  const cpuMs = (usageOfTree(serverPid).cpuSeconds - cpuBefore) * 1000;
  const walKb = ((await readWal(url)) - walBefore) / 1024;
  await pool.query('truncate finished_jobs');
  return { ms: ms / payloads.length, cpuMs: cpuMs / payloads.length, walKb: walKb / payloads.length };
}

const NO_OPTIONS = {
  isLowPriority: false,
  isSync: false,
  extras: null,
  webhook: null,
  executionTimeoutMs: null,
  ttlMs: 86_400_000,
  hasOwnTtl: false,
  waiter: null,
};

async function readWal(url: string): Promise<number> {
  const [row] = await query<{ bytes: string }>(url, "select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes");
  return Number(row!.bytes);
}

function medianOf(costs: readonly PayloadCost[]): PayloadCost {
  const of = (pick: (cost: PayloadCost) => number) => median(costs.map(pick));
  return { ms: of(({ ms }) => ms), cpuMs: of(({ cpuMs }) => cpuMs), walKb: of(({ walKb }) => walKb) };
}

/** Words of the guide in random order: compresses to a half, as prose does. */
function text(bytes: number): string {
  let text = '';
  while (text.length < bytes) text += `${words[Math.floor(Math.random() * words.length)]} `;
  return JSON.stringify(text.slice(0, bytes));
}

const words = readFileSync(new URL('../../docs/guide/kubernetes.md', import.meta.url), 'utf8').match(/\w+/g)!;

/** As images are sent: does not compress. */
function base64(bytes: number): string {
  return JSON.stringify(
    randomBytes(Math.ceil(bytes * 0.75))
      .toString('base64')
      .slice(0, bytes),
  );
}
