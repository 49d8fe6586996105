import type { JobLimits, LoadBalancingLimits } from '../src/config/config.ts';
import { readConfig } from '../src/config/config.ts';
import { systemClock } from '../src/core/clock.ts';
import type { EndpointId, UserId } from '../src/core/ids.ts';
import { silentLogger } from '../src/core/logger.ts';
import { isQueuePath } from '../src/dataplane/data-plane.ts';
import { createApiKey } from '../src/domain/access/create-api-key.ts';
import { parseScope } from '../src/domain/access/scopes.ts';
import { hashSecret } from '../src/domain/access/secret-hash.ts';
import { createUser } from '../src/domain/access/users.ts';
import { change } from '../src/domain/change.ts';
import type { Context } from '../src/domain/context.ts';
import { createEndpoint, type NewEndpoint } from '../src/domain/endpoints/create-endpoint.ts';
import { ensureInstallation } from '../src/domain/installation.ts';
import { type RunningServer, startServer } from '../src/server.ts';
import { checkAnswer } from './check-answer.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { FakeWorker } from './fake-worker.ts';
import { newEndpoint } from './new-endpoint.ts';

const ADMIN_KEY = 'pyk_test-admin';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON that the server sends
  body: any;
}

export interface CallOptions {
  /** The Authorization header; null for none. Default: the admin's key as bearer token. */
  authorization?: string | null;
  body?: string | Buffer | object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/**
 * The whole server over HTTP, with its own database and the simulated runtime. Simulated workloads do nothing: a test
 * stands in for one with `worker`, and speaks the worker API for it.
 */
export class QueuePlaneFixture {
  readonly database: TestDatabase;
  readonly userId: UserId;
  readonly context: Context;
  readonly #settings: FixtureSettings;
  #server: RunningServer;
  #workerApiUrl: string;

  static async start(
    limits: Partial<JobLimits> = {},
    allowPrivateWebhooks = false,
    loadBalancing: Partial<LoadBalancingLimits> = {},
    gpus = 'ADA_24:1000',
  ): Promise<QueuePlaneFixture> {
    const database = await createTestDatabase();
    const settings = { limits, allowPrivateWebhooks, loadBalancing, gpus };
    const server = await startFor(database, settings);
    const user = await database.pool.query<{ id: UserId }>("select id from users where name = 'admin'");
    const { workerApiPort } = await ensureInstallation(database.pool);
    return new QueuePlaneFixture(database, server, user.rows[0]!.id, workerApiPort, settings);
  }

  private constructor(
    database: TestDatabase,
    server: RunningServer,
    userId: UserId,
    workerApiPort: number,
    settings: FixtureSettings,
  ) {
    this.database = database;
    this.userId = userId;
    this.#server = server;
    this.#settings = settings;
    this.#workerApiUrl = `http://127.0.0.1:${workerApiPort}`;
    const publish: Context['bus']['publish'] = (topic, payload) => void this.hint(topic, payload);
    this.context = { pool: database.pool, bus: { publish } };
  }

  async close(): Promise<void> {
    await this.#server.stop();
    await this.database.drop();
  }

  /** Stops the server and starts another on the same database. */
  async restart(): Promise<void> {
    await this.#server.stop();
    this.#server = await startFor(this.database, this.#settings);
    const { workerApiPort } = await ensureInstallation(this.database.pool);
    this.#workerApiUrl = `http://127.0.0.1:${workerApiPort}`;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  get url(): string {
    return this.#server.url;
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of any query
  async sql(text: string, ...values: unknown[]): Promise<any[]> {
    return (await this.database.pool.query(text, values)).rows;
  }

  /** Sends a hint as another process would. */
  async hint(topic: string, payload: string): Promise<void> {
    await this.sql("select pg_notify('podyard', $1)", JSON.stringify(['test', topic, payload]));
  }

  /** An endpoint with a fixed number of workers; 0: its jobs stay in the queue. */
  async endpoint(workers = 0, fields: Partial<NewEndpoint> = {}): Promise<EndpointId> {
    const endpoint = await change(
      this.context,
      { userId: this.userId, keyId: 'test' as never, scopes: [{ kind: 'all' }] },
      createEndpoint,
      newEndpoint({ diskGb: 10, workers: { min: workers, max: workers }, ...fields }),
    );
    return endpoint.id;
  }

  /** Stands in for a running worker, none of `besides`. Its first ping makes it ready. */
  async worker(endpointId: EndpointId, besides: readonly string[] = []): Promise<FakeWorker> {
    const running = `select id from workers where endpoint_id = $1 and phase = 'RUNNING' and wanted = 'RUN' and id <> all($2)`;
    const [row] = await until(
      () => this.sql(running, endpointId, besides),
      (rows) => rows.length > 0,
    );
    const token = `pyw_${row.id}`;
    await this.sql('update workers set token_hash = $2 where id = $1', row.id, hashSecret(token));
    await this.hint('worker', row.id);
    const worker = new FakeWorker({ apiUrl: this.#workerApiUrl, endpointId, workerId: row.id, token });
    await worker.ping();
    return worker;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { body, authorization = `Bearer ${ADMIN_KEY}` } = options;
    const isPlain = typeof body === 'object' && !Buffer.isBuffer(body);
    const response = await fetch(`${this.url}/v2/${path}`, {
      method,
      headers: {
        ...(authorization === null ? {} : { authorization }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      body: body === undefined ? null : isPlain ? JSON.stringify(body) : (body as string),
      signal: options.signal ?? null,
    });
    const text = await response.text();
    const url = `/v2/${path}`;
    const { status, headers } = response;
    if (!isQueuePath(url)) checkAnswer({ method, url, status, headers: Object.fromEntries(headers), body: text });
    const isJson = headers.get('content-type')?.includes('json');
    return { status, headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  /** Posts to /run; resolves with the job's id. */
  async run(endpointId: EndpointId, input: unknown = {}, more: object = {}): Promise<string> {
    const answer = await this.call('POST', `${endpointId}/run`, { body: { input, ...more } });
    if (answer.status !== 200) throw new Error(`run was rejected: ${answer.text}`);
    return answer.body.id;
  }

  async status(endpointId: EndpointId, jobId: string) {
    return (await this.call('GET', `${endpointId}/status/${jobId}`)).body;
  }

  async keyFor(userId: UserId, ...scopes: string[]): Promise<string> {
    const input = { userId, name: 'test', scopes: scopes.map(parseScope), expiresAt: null };
    return (await change({ ...this.context, clock: systemClock }, null, createApiKey, input)).secret;
  }

  /** Another user. */
  async stranger(): Promise<UserId> {
    return (await createUser(this.database.pool, { name: `stranger ${Math.random()}`, email: null })).id;
  }
}

interface FixtureSettings {
  limits: Partial<JobLimits>;
  allowPrivateWebhooks: boolean;
  loadBalancing: Partial<LoadBalancingLimits>;
  /** As for --simulate-gpus. */
  gpus: string;
}

async function startFor(
  database: TestDatabase,
  { limits, allowPrivateWebhooks, loadBalancing, gpus }: FixtureSettings,
): Promise<RunningServer> {
  const config = readConfig(
    { port: '0', databaseUrl: database.url, runtime: 'simulated', simulateGpus: gpus },
    { PODYARD_MASTER_KEY: 'ab'.repeat(32) }, // else one would be created in the data directory
  );
  const server = {
    ...config,
    adminKey: ADMIN_KEY,
    webhooks: { ...config.webhooks, allowPrivate: allowPrivateWebhooks },
    limits: { ...config.limits, ...limits },
    loadBalancing: { ...config.loadBalancing, ...loadBalancing },
  };
  return startServer(server, silentLogger, () => {});
}

/** Polls `read` until `isSo`: for what sends no notification. */
export async function until<T>(read: () => T | Promise<T>, isSo: (seen: T) => boolean, withinMs = 30_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await read();
    if (isSo(seen)) return seen;
    if (Date.now() > deadline) throw new Error(`condition not met in time; last seen: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
