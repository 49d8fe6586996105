import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { ADVISORY_LOCKS } from '../../src/db/advisory-locks.ts';
import { startEmbeddedServer } from '../../src/db/embedded-server.ts';
import { findPostmaster } from '../../src/db/postmaster.ts';
import { createProcessRuntime } from '../../src/runtimes/process/process-runtime.ts';
import { Api, until } from '../e2e/api.ts';
import { dataProcessesOf, isGone } from '../e2e/one-process.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { limitMs, times } from './extent.ts';
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
        await until('orphans are gone', async () => (await Promise.all(children.map(isGone))).every(Boolean), 20_000);
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
    await until('one leads', async () => (await fleet.leaders()) === 1, 10_000);
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
      const startedAt = performance.now();
      await until('jobs pass through both processes', () => fleet.passesJobs(probed!), 20_000);
      await until('all processes listen again', async () => {
        const rows = await fleet.ask("select from pg_stat_activity where application_name = 'podyard bus'");
        return rows.length === 4;
      });
      await until('one leads', async () => (await fleet.leaders()) === 1);
      backAfterMs.push(Math.round(performance.now() - startedAt));
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
  const fleet = await Fleet.start();
  onTestFinished(() => fleet.dispose(), 60_000);
  const endpointIds = await makeEndpoints(fleet.data[0]!);
  const loads = fleet.data.map((server, i) => new Load(server, endpointIds, random, `${'ab'[i]}`));
  onTestFinished(async () => void (await Promise.all(loads.map((load) => load.stop()))), 60_000);
  for (const load of loads) load.start(3);
  return { fleet, endpointIds, loads, random };
}

class Fleet {
  readonly data: ServerProcess[] = [];
  readonly control: ServerProcess[] = [];
  mostLeaders = 0;
  readonly #dataDir: string;
  readonly #databaseUrl: string;
  readonly #service: Service;
  readonly #stopDatabase: () => Promise<void>;
  #watch: NodeJS.Timeout | undefined;

  static async start(): Promise<Fleet> {
    const dataDir = await mkdtemp(join(tmpdir(), 'podyard-fleet-'));
    const database = await startEmbeddedServer({ dataDir, logger: silentLogger });
    const fleet = new Fleet(dataDir, database.databaseUrl, await Service.listen(), () => database.stop());
    try {
      await fleet.#launch();
    } catch (error) {
      await fleet.dispose();
      throw error;
    }
    return fleet;
  }

  private constructor(dataDir: string, databaseUrl: string, service: Service, stopDatabase: () => Promise<void>) {
    this.#dataDir = dataDir;
    this.#databaseUrl = databaseUrl;
    this.#service = service;
    this.#stopDatabase = stopDatabase;
  }

  async #launch(): Promise<void> {
    const start = async (roles: string, workerApiPort: number) => {
      const env = {
        ...KEEP,
        PODYARD_ROLES: roles,
        PODYARD_DATA_DIR: this.#dataDir,
        PODYARD_WORKER_API_PORT: String(workerApiPort),
      };
      return ServerProcess.start({ runtime: 'process', gpus: 'ADA_24:8', databaseUrl: this.#databaseUrl, env });
    };
    for (const port of await freePorts(2)) {
      this.#service.ports.push(port);
      this.data.push(await start('api,data', port));
    }
    for (let i = 0; i < 2; i++) this.control.push(await start('control', this.#service.port));
    this.#watch = setInterval(() => void this.leaders().catch(() => {}), 50);
  }

  async ask<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    const client = new pg.Client({ connectionString: this.#databaseUrl, application_name: 'podyard test' });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<T>(text, values)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Returns how many processes lead now. */
  async leaders(): Promise<number> {
    const rows = await this.ask("select from pg_locks where locktype = 'advisory' and objid = $1 and granted", [
      ADVISORY_LOCKS.leader,
    ]);
    this.mostLeaders = Math.max(this.mostLeaders, rows.length);
    return rows.length;
  }

  /** Returns the process that most recently logged that it leads. */
  async leader(): Promise<ServerProcess> {
    await until('one leads', async () => (await this.leaders()) === 1);
    const leading = this.control.filter(({ stderr }) => stderr.includes('this process leads'));
    return leading.at(-1)!;
  }

  async postmaster(): Promise<number | undefined> {
    const found = await findPostmaster(join(this.#dataDir, 'postgres'));
    return found.state === 'running' ? found.pid : undefined;
  }

  async passesJobs(endpointId: string): Promise<boolean> {
    const results = await Promise.all(
      this.data.map((server) =>
        new Api(server).call<{ status: string }>(
          'POST',
          `/v2/${endpointId}/runsync?wait=5000`,
          { input: { echo: 'passes' } },
          { timeoutMs: 6_000 },
        ),
      ),
    ).catch(() => []);
    return results.length === 2 && results.every(({ status }) => status === 'COMPLETED');
  }

  /** Stops the workers, whose directory the servers share. */
  async #stopWorkers(): Promise<void> {
    const [row] = await this.ask<{ id: string }>(
      "select value ->> 'id' as id from settings where key = 'installation'",
    );
    if (!row) return;
    const runtime = createProcessRuntime({
      stateDir: join(this.#dataDir, 'process'),
      installation: row.id,
      imagesFiles: [],
      hostEnv: {},
      gpus: new Map(),
      logger: silentLogger,
    });
    await Promise.allSettled((await runtime.list()).map(({ id }) => runtime.stop(id, 0)));
    await runtime.close();
  }

  async dispose(): Promise<void> {
    clearInterval(this.#watch);
    for (const server of [...this.control, ...this.data]) await server.dispose();
    await this.#stopWorkers();
    await this.#service.close();
    await this.#stopDatabase();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

/** A TCP load balancer: one address for several processes. A connection goes to one that accepts it. */
class Service {
  readonly ports: number[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #turn = 0;

  static async listen(): Promise<Service> {
    const service = new Service();
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  private constructor() {
    this.#server = createServer((socket) => this.#join(socket, this.ports.length));
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(socket: Socket, tries: number): void {
    const upstream = connect(this.ports[this.#turn++ % this.ports.length]!, '127.0.0.1');
    this.#sockets.add(socket).add(upstream);
    let isConnected = false;
    upstream.once('connect', () => {
      isConnected = true;
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => {
      if (!isConnected && tries > 1 && !socket.destroyed) this.#join(socket, tries - 1);
      else socket.destroy();
    });
    socket.on('error', () => upstream.destroy());
    socket.on('close', () => upstream.destroy());
    upstream.on('close', () => {
      if (isConnected) socket.destroy();
    });
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  return servers.map((server) => {
    const { port } = server.address() as { port: number };
    server.close();
    return port;
  });
}

/** Prints figures: a change in them says more than a test that passes. */
function report(what: string, load: Load): void {
  const ends = Map.groupBy(load.accepted, ({ reported }) => reported!.status);
  const counts = [...ends].map(([status, jobs]) => `${jobs.length} ${status}`).join(', ');
  console.log(
    `${what}: ${load.accepted.length} jobs accepted with 200: ${counts}; ${load.failedRequests} requests failed`,
  );
}
