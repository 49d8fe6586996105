import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { silentLogger } from '../../src/core/logger.ts';
import type { RuntimeName } from '../../src/core/runtime-names.ts';
import { startEmbeddedServer } from '../../src/db/embedded-server.ts';
import { findPostmaster } from '../../src/db/postmaster.ts';
import { createDockerRuntime } from '../../src/runtimes/docker/docker-runtime.ts';
import { createProcessRuntime } from '../../src/runtimes/process/process-runtime.ts';
import type { Observed, Runtime } from '../../src/runtimes/runtime.ts';
import { placeFreshData } from '../fresh-data.ts';
import { MAIN } from '../podyard-main.ts';

const READY = /^Podyard is ready at (http\S+)$/m;
const READY_TIMEOUT_MS = 150_000;
const STOP_TIMEOUT_MS = 90_000;
const KEPT_OUTPUT = 200_000;

/** `simulated`: workloads that do nothing and end with the server. */
export type TestedRuntime = RuntimeName;

/** Facts about a cluster for tests that run on several runtimes; empty elsewhere. */
export interface RuntimePlace extends Pick<ServerProcessOptions, 'env' | 'openRuntime'> {
  /** Undefined: the GPUs of the cluster instead of simulated ones. */
  gpus?: string | undefined;
  /** Returns the ids of the network volumes, or of the pods, that have stored data. */
  listStored?: (kind: 'volume' | 'pod') => Promise<string[]>;
}

export interface ServerProcessOptions {
  runtime: TestedRuntime;
  /** Opens the runtime as a server of that installation does; required for `kubernetes`. */
  openRuntime?: (installation: string) => Runtime;
  /** Default: the embedded server in the data directory. */
  databaseUrl?: string;
  gpus?: string | undefined;
  /** Where it listens, for one whose public URL is another's. */
  port?: number;
  env?: Record<string, string>;
  /** The program; default: this version's. */
  main?: string;
}

/**
 * Podyard as users run it: `node src/main.ts serve` with its own data directory. It can be killed and restarted on the same port
 * and data. `dispose` ends the server, its workers and its database.
 */
export class ServerProcess {
  readonly key = `pyk_e2e_${crypto.randomUUID().replaceAll('-', '')}`;
  readonly dataDir: string;
  readonly runtime: TestedRuntime;
  /** The address for clients; stays the same across restarts. */
  url = '';
  /** The output of the latest process on stdout and stderr. */
  stdout = '';
  stderr = '';
  /** Bytes that all its processes have logged so far. */
  loggedBytes = 0;
  readonly #options: ServerProcessOptions;
  #child: ChildProcess | undefined;
  #installation: string | undefined;

  /** Creates the data directory, with a migrated database for this version's own server, and starts nothing. */
  static async create(options: ServerProcessOptions): Promise<ServerProcess> {
    const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'podyard-e2e-')));
    if (!options.databaseUrl && !options.main) await placeFreshData(dataDir);
    return new ServerProcess(dataDir, options);
  }

  /** Starts a server. Resolves when it is ready. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const server = await ServerProcess.create(options);
    try {
      await server.start();
    } catch (error) {
      await server.dispose();
      throw error;
    }
    return server;
  }

  private constructor(dataDir: string, options: ServerProcessOptions) {
    this.dataDir = dataDir;
    this.runtime = options.runtime;
    this.#options = options;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts on the same port as before. Resolves when ready; rejects with the output if the process ends first. */
  async start(): Promise<void> {
    const child = this.#spawn();
    const publicUrl = await new Promise<string>((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`the server ${why}:\n${this.stderr}`));
      const timer = setTimeout(() => fail('was not ready in time'), READY_TIMEOUT_MS);
      child.stdout.on('data', (chunk) => {
        this.stdout += chunk;
        const ready = READY.exec(this.stdout);
        if (!ready) return;
        clearTimeout(timer);
        resolve(ready[1]!);
      });
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        fail(`ended with ${code ?? signal}`);
      });
    });
    const { port } = this.#options;
    const url = port === undefined ? publicUrl : `http://127.0.0.1:${port}`;
    if (this.url !== '' && url !== this.url) throw new Error(`it came back at ${url}, not at ${this.url}`);
    this.url = url;
    this.#installation ??= await this.#readInstallation();
  }

  /** Starts the server and kills it after `afterMs`, during the start or soon after it. */
  async startAndKill(afterMs: number): Promise<void> {
    this.#spawn();
    await sleep(afterMs);
    await this.kill();
  }

  /** `kill -9`. Resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM. Resolves with the exit code. */
  async stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  /** Returns the URL of its database, also while the server is stopped. */
  async databaseUrl(): Promise<string> {
    if (this.#options.databaseUrl) return this.#options.databaseUrl;
    const found = await this.postmaster();
    return `postgresql:///podyard?host=${encodeURIComponent(found.socketDir)}&user=podyard`;
  }

  /** Returns the embedded PostgreSQL. Throws when it does not run. */
  async postmaster(): Promise<{ pid: number; socketDir: string }> {
    const found = await findPostmaster(join(this.dataDir, 'postgres'));
    if (found.state === 'none') throw new Error('the embedded PostgreSQL does not run');
    return found;
  }

  /** Queries its database. */
  async query<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    const client = new pg.Client({ connectionString: await this.databaseUrl(), application_name: 'podyard test' });
    await client.connect();
    try {
      return (await client.query<T>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Lists the workloads of its runtime, also while the server is stopped. */
  listWorkloads(): Promise<Observed[]> {
    return this.#withRuntime((runtime) => runtime.list());
  }

  /** Ends a workload without the server, like a restart of the engine or the machine. */
  loseWorkload(id: string): Promise<void> {
    return this.#withRuntime((runtime) => runtime.stop(id, 0));
  }

  /** Runs a program in a workload without the server, and returns what it prints. */
  runIn(id: string, command: readonly string[]): Promise<string> {
    return this.#withRuntime(async (runtime) => {
      const program = await runtime.exec(id, { command, terminal: null, hasInput: false });
      program.errors?.resume();
      const printed = await text(program.output);
      await program.end();
      return printed;
    });
  }

  async #withRuntime<T>(use: (runtime: Runtime) => Promise<T>): Promise<T> {
    const runtime = this.#openRuntime();
    try {
      return await use(runtime);
    } finally {
      await runtime.close();
    }
  }

  #openRuntime(): Runtime {
    const shared = { installation: this.#installation!, logger: silentLogger };
    if (this.#options.openRuntime) return this.#options.openRuntime(shared.installation);
    if (this.runtime === 'docker') return createDockerRuntime({ ...shared, gpus: new Map() });
    return createProcessRuntime({
      ...shared,
      stateDir: join(this.dataDir, 'process'),
      imagesFiles: [],
      hostEnv: {},
      gpus: new Map(),
    });
  }

  get installation(): string {
    return this.#installation!;
  }

  /** Ends everything that it started. */
  async dispose(): Promise<void> {
    await this.kill();
    if (this.#installation !== undefined) {
      await this.#withRuntime(async (runtime) => {
        await Promise.allSettled((await runtime.list()).map(({ id }) => runtime.stop(id, 0)));
        await runtime.tidy?.();
        await Promise.allSettled((await runtime.groups.list()).map((id) => runtime.groups.remove(id)));
      });
    }
    if (!this.#options.databaseUrl) await this.#stopDatabase();
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  #spawn(): ChildProcessByStdio<null, Readable, Readable> {
    const port = this.#options.port ?? (this.url === '' ? 0 : new URL(this.url).port);
    this.stdout = '';
    this.stderr = '';
    const child = spawn(process.execPath, [this.#options.main ?? MAIN, 'serve', '--port', `${port}`], {
      env: this.#env(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr.on('data', (chunk) => {
      this.loggedBytes += chunk.length;
      this.stderr = (this.stderr + chunk).slice(-KEPT_OUTPUT);
    });
    return child;
  }

  async #stopDatabase(): Promise<void> {
    const left = await findPostmaster(join(this.dataDir, 'postgres'));
    if (left.state === 'none') return;
    const database = await startEmbeddedServer({ dataDir: this.dataDir, logger: silentLogger });
    await database.stop();
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child;
    if (!child || !this.isRunning) return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
    return child.exitCode;
  }

  async #readInstallation(): Promise<string> {
    const rows = await this.query<{ id: string }>("select value->>'id' as id from settings where key = 'installation'");
    return rows[0]!.id;
  }

  /** Passes on only what any program needs, and what the test sets. */
  #env(): Record<string, string> {
    const { PATH, HOME, TMPDIR, DOCKER_HOST } = process.env;
    const { gpus = this.runtime === 'kubernetes' ? undefined : 'ADA_24:4' } = this.#options;
    const inherited = Object.entries({ PATH, HOME, TMPDIR, DOCKER_HOST }).filter((entry) => entry[1] !== undefined);
    return {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      PODYARD_ADMIN_KEY: this.key,
      PODYARD_DATA_DIR: this.dataDir,
      PODYARD_RATE_LIMIT: 'off', // tests poll often
      PODYARD_RUNTIME: this.#options.runtime,
      ...(gpus === undefined ? {} : { PODYARD_SIMULATE_GPUS: gpus }),
      ...(this.#options.databaseUrl ? { DATABASE_URL: this.#options.databaseUrl } : {}),
      PODYARD_INSECURE_PROCESS_RUNTIME: 'true', // many tests have several users
      ...this.#options.env,
    };
  }
}
