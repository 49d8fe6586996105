import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { dataProcessesOf, isGone } from '../e2e/one-process.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';
import { limitMs, times } from './extent.ts';
import { Fleet } from './fleet.ts';
import { Load } from './load.ts';
import { Random } from './random.ts';
import { expectNothingLost } from './truth.ts';

/** Results must outlive the test, or a missing one would prove nothing. */
const KEEP = { PODYARD_RESULT_RETENTION_SECONDS: '7200', PODYARD_SYNC_RESULT_RETENTION_SECONDS: '7200' };
const SETTLE_MS = 60_000;
const SHARED_KILLS = times(12);
const APART_KILLS = times(9);
const FAILOVERS = times(3);
const SCALING = { type: 'REQUEST_COUNT', value: 8, idleTimeout: 60 };

test(
  `three processes on one port: kill -9 of any of them, the first included, ${SHARED_KILLS} times under load: no job is lost or ends twice`,
  async () => {
    const random = new Random();
    console.log(`PODYARD_CHAOS_SEED=${random.seed}`);
    const server = await ServerProcess.start({
      runtime: 'process',
      gpus: 'ADA_24:8',
      env: { ...KEEP, PODYARD_DATA_PROCESSES: '3' },
    });
    onTestFinished(() => server.dispose(), 60_000);
    const endpointIds = await makeEndpoints(server);
    const load = new Load(server, endpointIds, random);
    onTestFinished(() => load.stop(), 60_000);
    load.start(9);
    const killed = { first: 0, data: 0 };
    for (let i = 0; i < SHARED_KILLS; i++) {
      await load.answers(random.between(1, 20));
      if (i % 3 === 2) {
        const children = await dataProcessesOf(server);
        await server.kill();
        await server.start();
        await until('orphans are gone', async () => (await Promise.all(children.map(isGone))).every(Boolean));
        killed.first += 1;
      } else {
        process.kill(random.pick(await dataProcessesOf(server)), 'SIGKILL');
        killed.data += 1;
      }
    }
    await load.answers(20);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
    report(`${killed.first} kills of the first process, ${killed.data} of others`, load);
  },
  limitMs(400_000),
);

test(
  `separate processes: kill -9 of data processes and leaders, ${APART_KILLS} times under load: no job is lost, and one process leads`,
  async () => {
    const { fleet, endpointIds, loads, random } = await beginApart();
    for (let i = 0; i < APART_KILLS; i++) {
      await random.pick(loads).answers(random.between(1, 20));
      const victim = i % 3 === 2 ? await fleet.leader() : random.pick(fleet.data);
      await victim.kill();
      await sleep(random.between(0, 500));
      await victim.start();
    }
    await until('one leads', async () => (await fleet.leaders()) === 1);
    for (const load of loads) await load.answers(20);
    for (const load of loads) await load.stop();
    for (const [i, load] of loads.entries()) {
      await expectNothingLost(fleet.data[i]!, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
      report(`${APART_KILLS} kills, clients of process ${i + 1}`, load);
    }
    expect(fleet.mostLeaders).toBe(1);
  },
  limitMs(400_000),
);

test(
  `PostgreSQL drops all connections and restarts, ${FAILOVERS} times under load: jobs are rejected or kept, and everything works again within 10 s`,
  async () => {
    const { fleet, endpointIds, loads } = await beginApart();
    const [probed] = await makeEndpoints(fleet.data[0]!, 1); // without a backlog, so that the length of a queue is not measured
    const backAfterMs: number[] = [];
    for (let i = 0; i < FAILOVERS; i++) {
      for (const load of loads) await load.answers(20);
      const before = await fleet.postmaster();
      process.kill(before!, 'SIGQUIT'); // immediate shutdown: no clean disconnect, recovery at the next start
      await until('a new PostgreSQL answers', async () => {
        const found = await fleet.postmaster();
        return found !== undefined && found !== before && (await fleet.ask('select 1')).length === 1;
      });
      const tookMs = await fairMs(async () => {
        await until('jobs pass through both processes', () => fleet.passesJobs(probed!), 60_000);
        await until('all processes listen again', async () => {
          const rows = await fleet.ask("select from pg_stat_activity where application_name = 'podyard bus'");
          return rows.length === 4;
        });
        await until('one leads', async () => (await fleet.leaders()) === 1);
      });
      backAfterMs.push(Math.round(tookMs));
    }
    for (const load of loads) await load.stop();
    for (const [i, load] of loads.entries()) {
      await expectNothingLost(fleet.data[i]!, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
      report(`${FAILOVERS} failovers, clients of process ${i + 1}`, load);
    }
    console.log(`everything worked again ${backAfterMs.join(', ')} ms after PostgreSQL answered`);
    expect(Math.max(...backAfterMs)).toBeLessThan(10_000);
    expect(fleet.mostLeaders).toBe(1);
  },
  limitMs(240_000),
);

async function makeEndpoints(server: ServerProcess, count = 2): Promise<string[]> {
  const api = new Api(server);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const env = { ECHO_CONCURRENCY: String(1 + 2 * i) };
    ids.push(await api.createEndpoint({ workers: { min: 1, max: 2 }, scaling: SCALING, env }));
  }
  for (const id of ids) await api.runToEnd(id, { echo: 'warm' });
  return ids;
}

/** Starts two serving processes and two control candidates on their own PostgreSQL. Workers reach the serving ones at one address. */
async function beginApart() {
  const random = new Random();
  console.log(`PODYARD_CHAOS_SEED=${random.seed}`);
  const fleet = await Fleet.start(KEEP);
  onTestFinished(() => fleet.dispose(), 60_000);
  const endpointIds = await makeEndpoints(fleet.data[0]!);
  const loads = fleet.data.map((server, i) => new Load(server, endpointIds, random, `${'ab'[i]}`));
  onTestFinished(async () => void (await Promise.all(loads.map((load) => load.stop()))), 60_000);
  for (const load of loads) load.start(3);
  return { fleet, endpointIds, loads, random };
}

function report(what: string, load: Load): void {
  const ends = Map.groupBy(load.accepted, ({ reported }) => reported!.status);
  const counts = [...ends].map(([status, jobs]) => `${jobs.length} ${status}`).join(', ');
  console.log(
    `${what}: ${load.accepted.length} jobs accepted with 200: ${counts}; ${load.failedRequests} requests failed`,
  );
}
