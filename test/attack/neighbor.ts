import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect } from 'vitest';
import { hashSecret } from '../../src/domain/access/secret-hash.ts';
import { Api, until } from '../e2e/api.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import { FairShare } from '../fair-ms.ts';
import { createTenant } from './tenant.ts';

/** From a job's submission to its result, at most, for 99 of 100 jobs of a neighbor. */
const MAX_P99_MS = 250;
/** For servers whose neighbor runs for minutes: its results are counted in the end. */
export const KEEP_RESULTS = {
  PODYARD_RESULT_RETENTION_SECONDS: '7200',
  PODYARD_SYNC_RESULT_RETENTION_SECONDS: '7200',
};
/** On a machine whose timers are later than this, other work keeps everything waiting. */
const BUSY_MS = 10;
/** Times that a job waits for the machine on its way: client, server, database, worker, and back. */
const TURNS = 6;
const TOKEN = 'pyw_neighbor';

export interface NeighborTask {
  url: string;
  key: string;
  endpointId: string;
  pauseMs: number;
  /** Set if the thread stands in for the worker. */
  worker: { apiUrl: string; workerId: string; token: string } | null;
}

/** One job of the neighbor. `fault`: what it got instead of its own result. */
export interface NeighborJob {
  id: string;
  ms: number;
  /** How late the timer after it was: what the machine's other work costs a process that only waits. */
  lateMs: number;
  fault: string | null;
}

/** Another user of the attacked server, whose jobs run all the time. */
export class Neighbor {
  readonly key: string;
  readonly endpointId: string;
  readonly #server: ServerProcess;
  readonly #thread: Worker;
  readonly #share: FairShare;

  /** Resolves once its first job has ended. `pauseMs`: between the result of a job and the next job. */
  static async start(server: ServerProcess, options: { name?: string; pauseMs?: number } = {}): Promise<Neighbor> {
    const { name = 'neighbor', pauseMs = 50 } = options;
    const { key } = await createTenant(server, name);
    const api = new Api({ url: server.url, key });
    const endpointId = await api.createEndpoint({ name, workers: { min: 1, max: 1 } });
    const worker = server.runtime === 'simulated' ? await standIn(server, endpointId) : null;
    if (!worker) await api.runToEnd(endpointId, { echo: 'first' });
    return new Neighbor(server, { url: server.url, key, endpointId, pauseMs, worker }, await FairShare.start());
  }

  private constructor(server: ServerProcess, task: NeighborTask, share: FairShare) {
    this.#share = share;
    this.key = task.key;
    this.endpointId = task.endpointId;
    this.#server = server;
    this.#thread = new Worker(new URL('./neighbor-thread.ts', import.meta.url), { workerData: task });
  }

  /**
   * Ends it, and checks that each of its jobs ended once, with its own result, in time. On a machine that keeps even timers
   * waiting, because it runs other tests, a job may take longer by that, as often as it waits for the machine, and by the share
   * of a processor that a busy program gets.
   */
  async expectUnharmed(attack: string, maxP99Ms = MAX_P99_MS): Promise<void> {
    const share = await this.#share.stop();
    this.#thread.postMessage('end');
    const [jobs] = (await once(this.#thread, 'message')) as [NeighborJob[]];
    const [p50, p99, slowest] = [0.5, 0.99, 1].map((share) => quantile(jobs, 'ms', share)) as [number, number, number];
    const late = quantile(jobs, 'lateMs', 0.99);
    console.log(
      `${attack}: ${jobs.length} jobs of the neighbor; p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, ` +
        `slowest ${slowest.toFixed(0)} ms; timers late by ${late.toFixed(0)} ms at p99`,
    );
    expect.soft(jobs.filter(({ fault }) => fault !== null)).toEqual([]);
    const ended = await this.#server.query<{ id: string; status: string }>(
      'select id, status from finished_jobs where id = any($1)',
      [jobs.map(({ id }) => id)],
    );
    const endedIds = new Set(ended.map(({ id }) => id));
    expect.soft(jobs.filter(({ id }) => !endedIds.has(id))).toEqual([]);
    expect.soft(ended).toHaveLength(endedIds.size); // each once
    expect.soft(p99).toBeLessThanOrEqual(late < BUSY_MS ? maxP99Ms : (maxP99Ms + TURNS * late) / share);
  }

  /** Ends it without a look at its jobs. */
  async stop(): Promise<void> {
    await Promise.all([this.#share.dispose(), this.#thread.terminate()]);
  }
}

function quantile(jobs: readonly NeighborJob[], of: 'ms' | 'lateMs', share: number): number {
  const sorted = jobs.map((job) => job[of]).toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
}

/** Gives the simulated worker of the endpoint a token that is known here. */
async function standIn(server: ServerProcess, endpointId: string): Promise<NonNullable<NeighborTask['worker']>> {
  const workerId = await until('a worker of the neighbor runs', async () => {
    const running = "select id from workers where endpoint_id = $1 and phase = 'RUNNING'";
    return (await server.query<{ id: string }>(running, [endpointId]))[0]?.id;
  });
  await server.query('update workers set token_hash = $2 where id = $1', [workerId, hashSecret(TOKEN)]);
  await server.query("select pg_notify('podyard', $1)", [JSON.stringify(['test', 'worker', workerId])]);
  return { apiUrl: await workerApiUrl(server), workerId, token: TOKEN };
}

export async function workerApiUrl(server: ServerProcess): Promise<string> {
  const [row] = await server.query<{ port: number }>(
    "select (value->>'workerApiPort')::int as port from settings where key = 'installation'",
  );
  return `http://127.0.0.1:${row!.port}`;
}
