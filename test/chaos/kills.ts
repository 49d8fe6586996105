import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished, test } from 'vitest';
import { containerOf } from '../containers/container-engine.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess, type ServerProcessOptions, type TestedRuntime } from '../e2e/server-process.ts';
import { limitMs, SOAK_MS } from './extent.ts';
import { Load } from './load.ts';
import { Random } from './random.ts';
import { expectNothingLost } from './truth.ts';

const CLIENTS = 9;
/** Results must outlive the test, or a missing one would prove nothing. */
const KEEP = { PODYARD_RESULT_RETENTION_SECONDS: '7200', PODYARD_SYNC_RESULT_RETENTION_SECONDS: '7200' };
/**
 * Time for every job to end. A leased job that never reached its worker is found at the worker's next idle poll, or by two of its
 * pings, the first of them 15 s after dispatch.
 */
export const SETTLE_MS = 60_000;

export function killTests(runtime: TestedRuntime, times: { serverKills: number; workerKills: number }): void {
  test(
    `kill -9 of the server, ${times.serverKills} times under load: every job accepted with 200 ends once, with its own result`,
    async () => {
      const { server, load, endpointIds, random } = await begin(runtime);
      const startsMs: number[] = [];
      const pauseMs = SOAK_MS / times.serverKills;
      for (let i = 0; i < times.serverKills; i++) {
        await sleep(pauseMs);
        await load.answers(random.between(1, 20));
        await server.kill();
        await sleep(random.between(0, 300));
        if (i % 5 === 4) await server.startAndKill(random.between(50, 900)); // and killed during the start
        const startedAt = performance.now();
        await server.start();
        startsMs.push(performance.now() - startedAt);
      }
      await load.answers(20);
      await load.stop();
      await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
      await expectNoWorkloadLeft(server, endpointIds);
      const median = startsMs.sort((a, b) => a - b)[Math.floor(startsMs.length / 2)]!.toFixed(0);
      report(`${times.serverKills} kills of the server (${runtime}), ready again after ${median} ms (median)`, load);
    },
    limitMs(400_000),
  );

  test(
    `kill -9 of workers, ${times.workerKills} times under load: each job ends once, with its own result or after one retry`,
    async () => {
      const { server, load, endpointIds, random } = await begin(runtime);
      const api = new Api(server);
      for (let i = 0; i < times.workerKills; i++) {
        await load.answers(random.between(1, 20));
        const victim = await until('a worker is ready', async () => {
          const workers = (await Promise.all(endpointIds.map((id) => api.workers(id)))).flat();
          const ready = workers.filter(({ status }) => status === 'RUNNING' || status === 'IDLE');
          return ready.length > 0 && random.pick(ready).id;
        });
        await killWorker(server, victim);
      }
      await load.answers(20);
      await load.stop();
      await expectNothingLost(server, load, endpointIds, { mayFail: true, atMostMs: SETTLE_MS });
      report(`${times.workerKills} kills of workers (${runtime})`, load);
    },
    limitMs(180_000),
  );
}

/** Starts a server under load, with endpoints whose workers take one job, take several at once, or come and go. */
export async function begin(runtime: TestedRuntime, options: Pick<ServerProcessOptions, 'databaseUrl' | 'env'> = {}) {
  const random = new Random();
  console.log(`PODYARD_CHAOS_SEED=${random.seed}`);
  const env = { ...KEEP, ...options.env };
  const server = await ServerProcess.start({ runtime, gpus: 'ADA_24:8', ...options, env });
  onTestFinished(() => server.dispose(), 60_000);
  const api = new Api(server);
  const scaling = { type: 'REQUEST_COUNT', value: 8, idleTimeout: 60 };
  const endpointIds = [
    await api.createEndpoint({ workers: { min: 1, max: 2 }, scaling }),
    await api.createEndpoint({ workers: { min: 1, max: 2 }, scaling, env: { ECHO_CONCURRENCY: '3' } }),
    // Its workers come and go constantly.
    await api.createEndpoint({
      workers: { min: 0, max: 2 },
      scaling: { type: 'REQUEST_COUNT', value: 2, idleTimeout: 0 },
    }),
  ];
  const load = new Load(server, endpointIds, random);
  onTestFinished(() => load.stop(), 60_000);
  for (const id of endpointIds) await api.runToEnd(id, { echo: 'warm' });
  load.start(CLIENTS);
  return { server, load, endpointIds, random };
}

/** However many starts and stops were interrupted, every unwanted workload is found and removed. */
async function expectNoWorkloadLeft(server: ServerProcess, endpointIds: readonly string[]): Promise<void> {
  const api = new Api(server);
  for (const id of endpointIds) await api.delete(id);
  await until('no workload is left', async () => (await server.listWorkloads()).length === 0);
}

/** Sends SIGKILL to all processes of a worker, like the kernel when memory runs out. */
async function killWorker(server: ServerProcess, id: string): Promise<void> {
  if (server.runtime === 'docker') {
    await containerOf(server.installation, id)
      .then((container) => container.kill())
      .catch(() => {}); // it has already ended
    return;
  }
  const file = join(server.dataDir, 'process', server.installation, id, 'process');
  const group = Number((await readFile(file, 'utf8').catch(() => '')).split(' ')[0]);
  try {
    if (group > 1) process.kill(-group, 'SIGKILL');
  } catch {
    // it has already ended
  }
}

/** Prints figures: a change in them says more than a test that passes. */
export function report(what: string, load: Load): void {
  const ends = Map.groupBy(load.accepted, ({ reported }) => reported!.status);
  const counts = [...ends].map(([status, jobs]) => `${jobs.length} ${status}`).join(', ');
  console.log(
    `${what}: ${load.accepted.length} jobs accepted with 200: ${counts}; ${load.failedRequests} requests failed`,
  );
}
