import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Docker from 'dockerode';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { describeWithEngine, needExampleImages } from '../e2e/container-engine.ts';
import { ServerProcess, type TestedRuntime } from '../e2e/server-process.ts';
import { Load } from './load.ts';
import { Random } from './random.ts';
import { expectNothingLost } from './truth.ts';

const CLIENTS = 9;
/** Results must outlast the test, or their absence would prove nothing. */
const KEEP = { PODYARD_RESULT_RETENTION_SECONDS: '7200', PODYARD_SYNC_RESULT_RETENTION_SECONDS: '7200' };
/**
 * A job that was leased but never reached its worker is found when the worker asks again with empty hands, or by two of its
 * pings, the first of them 15 s after the hand-over.
 */
const SETTLE_MS = 60_000;

describe('with workers that are processes', () => {
  survives('process', { serverKills: 20, workerKills: 15 });

  test('SIGTERM of the server under load, 5 times: it ends with 0, and everything that was answered with 200 is done', async () => {
    const { server, load, endpointIds, random } = await begin('process');
    const stopsMs: number[] = [];
    for (let i = 0; i < 5; i++) {
      await load.answers(random.between(1, 20));
      const startedAt = Date.now();
      expect(await server.stop()).toBe(0);
      stopsMs.push(Date.now() - startedAt);
      await server.start();
    }
    await sleep(1_000);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: 20_000 });
    report(`5 ends by SIGTERM, which took ${stopsMs.join(', ')} ms`, load);
    expect(Math.max(...stopsMs)).toBeLessThan(5_000);
  }, 120_000);

  test('a restart and kill -9 of PostgreSQL under load: nothing that was answered with 200 is lost or ends twice', async () => {
    const { server, load, endpointIds, random } = await begin('process');
    for (let i = 0; i < 6; i++) {
      await sleep(random.between(1_000, 2_500));
      const { pid } = await server.postmaster();
      process.kill(pid, i % 2 === 0 ? 'SIGKILL' : 'SIGINT');
      if (i === 4) {
        await server.kill(); // as if the machine had lost its power
        await server.start();
      }
      await until('PostgreSQL is another and answers', async () => {
        const isAnother = (await server.postmaster()).pid !== pid;
        return isAnother && (await server.query('select 1')).length === 1;
      });
    }
    await sleep(1_000);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
    report('6 ends of PostgreSQL', load);
  }, 180_000);
});

describeWithEngine('with workers in containers', () => {
  beforeAll(needExampleImages);
  survives('docker', { serverKills: 5, workerKills: 6 });
});

test('kill -9 during the very first start, at any moment of it: the next start comes up', async () => {
  const random = new Random();
  console.log(`PODYARD_CHAOS_SEED=${random.seed}`);
  const server = await ServerProcess.create({ runtime: 'process' });
  onTestFinished(() => server.dispose(), 60_000);
  for (let i = 0; i < 6; i++) await server.startAndKill(random.between(200, 1_800));
  await server.start();
  const api = new Api(server);
  const id = await api.createEndpoint({ workers: { min: 0, max: 1 } });
  expect(await api.runToEnd(id, { echo: 'alive' })).toMatchObject({ status: 'COMPLETED', output: 'alive' });
});

function survives(runtime: TestedRuntime, times: { serverKills: number; workerKills: number }): void {
  test(`kill -9 of the server, ${times.serverKills} times under load: every job that was answered with 200 ends once, with its own result`, async () => {
    const { server, load, endpointIds, random } = await begin(runtime);
    const startsMs: number[] = [];
    for (let i = 0; i < times.serverKills; i++) {
      await load.answers(random.between(1, 20));
      await server.kill();
      await sleep(random.between(0, 300));
      if (i % 5 === 4) await server.startAndKill(random.between(50, 900)); // killed while it starts, too
      const startedAt = performance.now();
      await server.start();
      startsMs.push(performance.now() - startedAt);
    }
    await sleep(1_000);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
    await expectNoWorkloadLeft(server, endpointIds);
    const median = startsMs.sort((a, b) => a - b)[Math.floor(startsMs.length / 2)]!.toFixed(0);
    report(`${times.serverKills} kills of the server (${runtime}), ready again after ${median} ms (median)`, load);
  }, 400_000);

  test(`kill -9 of workers, ${times.workerKills} times under load: each job ends once, with its own result or after one retry`, async () => {
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
    await sleep(1_000);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: true, atMostMs: SETTLE_MS });
    report(`${times.workerKills} kills of workers (${runtime})`, load);
  }, 180_000);
}

/** A server of its own under load, with endpoints whose workers take one job, take several at once, or come and go. */
async function begin(runtime: TestedRuntime) {
  const random = new Random();
  console.log(`PODYARD_CHAOS_SEED=${random.seed}`);
  const server = await ServerProcess.start({ runtime, gpus: 'ADA_24:8', env: KEEP });
  onTestFinished(() => server.dispose(), 60_000);
  const api = new Api(server);
  const scaling = { type: 'REQUEST_COUNT', value: 8, idleTimeout: 60 };
  const endpointIds = [
    await api.createEndpoint({ workers: { min: 1, max: 2 }, scaling }),
    await api.createEndpoint({ workers: { min: 1, max: 2 }, scaling, env: { ECHO_CONCURRENCY: '3' } }),
    // Its workers come and go all the time.
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

/** However many starts and stops the kills have cut in two: what is not wanted is found and removed. */
async function expectNoWorkloadLeft(server: ServerProcess, endpointIds: readonly string[]): Promise<void> {
  const api = new Api(server);
  for (const id of endpointIds) await api.delete(id);
  await until('no workload is left', async () => (await server.listWorkloads()).length === 0);
}

/** SIGKILL for all of a worker, as the kernel does it when memory runs out. */
async function killWorker(server: ServerProcess, id: string): Promise<void> {
  if (server.runtime === 'docker') {
    const container = new Docker().getContainer(`podyard-${server.installation}-${id}`);
    await container.kill().catch(() => {}); // it ended by itself
    return;
  }
  const file = join(server.dataDir, 'process', server.installation, id, 'process');
  const group = Number((await readFile(file, 'utf8').catch(() => '')).split(' ')[0]);
  try {
    if (group > 1) process.kill(-group, 'SIGKILL');
  } catch {
    // it ended by itself
  }
}

/** Prints what happened: a figure that changes tells more than a test that passes. */
function report(what: string, load: Load): void {
  const ends = Map.groupBy(load.accepted, ({ told }) => told!.status);
  const told = [...ends].map(([status, jobs]) => `${jobs.length} ${status}`).join(', ');
  console.log(
    `${what}: ${load.accepted.length} jobs answered with 200: ${told}; ${load.failedRequests} requests failed`,
  );
}
