import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { silentLogger } from '../../src/core/logger.ts';
import { ADVISORY_LOCKS } from '../../src/db/advisory-locks.ts';
import { startEmbeddedServer } from '../../src/db/embedded-server.ts';
import { findPostmaster } from '../../src/db/postmaster.ts';
import { createProcessRuntime } from '../../src/runtimes/process/process-runtime.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';

/** Two serving processes and two control candidates on their own PostgreSQL. Workers reach the serving ones at one address. */
export class Fleet {
  readonly data: ServerProcess[] = [];
  readonly control: ServerProcess[] = [];
  mostLeaders = 0;
  readonly #dataDir: string;
  readonly #databaseUrl: string;
  readonly #service: Service;
  readonly #stopDatabase: () => Promise<void>;
  #watch: NodeJS.Timeout | undefined;

  /** `env`: more variables of the serving processes. */
  static async start(env: Record<string, string> = {}): Promise<Fleet> {
    const dataDir = await mkdtemp(join(tmpdir(), 'podyard-fleet-'));
    const database = await startEmbeddedServer({ dataDir, logger: silentLogger });
    const fleet = new Fleet(dataDir, database.databaseUrl, await Service.listen(), () => database.stop());
    try {
      await fleet.#launch(env);
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

  async #launch(more: Record<string, string>): Promise<void> {
    const start = async (roles: string, workerApiPort: number) => {
      const env = {
        ...more,
        PODYARD_ROLES: roles,
        PODYARD_DATA_DIR: this.#dataDir,
        PODYARD_WORKER_API_PORT: String(workerApiPort),
      };
      return ServerProcess.start({ runtime: 'process', gpus: 'ADA_24:8', databaseUrl: this.#databaseUrl, env });
    };
    for (const port of [await freePort(), await freePort()]) {
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

/** A TCP load balancer: one address for several processes. A connection goes to one that accepts it, and that `isUsable`. */
export class Service {
  readonly ports: number[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #isUsable: (port: number) => boolean;
  #turn = 0;

  static async listen(isUsable: (port: number) => boolean = () => true): Promise<Service> {
    const service = new Service(isUsable);
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  private constructor(isUsable: (port: number) => boolean) {
    this.#isUsable = isUsable;
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
    const usable = this.ports.filter(this.#isUsable);
    const upstream = connect(usable[this.#turn++ % usable.length] ?? this.ports[0]!, '127.0.0.1');
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

/** Prints figures: a change in them says more than a test that passes. */
