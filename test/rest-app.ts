import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { systemClock } from '../src/core/clock.ts';
import { messageOf } from '../src/core/errors.ts';
import { newId, type UserId } from '../src/core/ids.ts';
import { type Logger, silentLogger } from '../src/core/logger.ts';
import { Metrics } from '../src/core/metrics.ts';
import { knownRevisionIn, REST_REVISIONS, type RestRevision } from '../src/core/rest-revisions.ts';
import { createSecretBox, type SecretBox } from '../src/core/secret-box.ts';
import { Bus } from '../src/db/bus.ts';
import { createApiKey } from '../src/domain/access/create-api-key.ts';
import { FIRST_USER } from '../src/domain/access/ensure-first-user.ts';
import { KeyRing, type Vouchers } from '../src/domain/access/key-ring.ts';
import { parseScope } from '../src/domain/access/scopes.ts';
import { createUser } from '../src/domain/access/users.ts';
import type { CapacitySource } from '../src/domain/catalog/capacity-source.ts';
import { change } from '../src/domain/change.ts';
import { WebhookPolicy } from '../src/domain/jobs/webhook-policy.ts';
import { readRecipes } from '../src/domain/models/read-recipes.ts';
import type { Recipe } from '../src/domain/models/recipe.ts';
import type { PodFigures } from '../src/domain/pods/pod-figures.ts';
import { AnswerBudget } from '../src/http/floods/answer-budget.ts';
import { type RateLimiter, unlimited } from '../src/http/floods/rate-limiter.ts';
import { Readiness } from '../src/http/readiness.ts';
import { createModelOrigins } from '../src/models/origins/model-origins.ts';
import type { MailSettings } from '../src/outbound/read-mail-settings.ts';
import { NoticePost } from '../src/outbound/send-notice.ts';
import { MetricsPage } from '../src/rest/installation/metrics-page.ts';
import { LogSearches } from '../src/rest/logs/log-searches.ts';
import { RestApps } from '../src/rest/rest-apps.ts';
import type { RestApp } from '../src/rest/shared/rest-app.ts';
import { checkAnswer, checkedListener } from './check-answer.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** The token of the metrics scraper. */
export const METRICS_TOKEN = 'scrape-me-if-you-can';

export interface Person {
  userId: UserId;
  /** A key with all scopes. */
  key: string;
}

export interface RestFixture {
  app: RestApp;
  database: TestDatabase;
  bus: Bus;
  secretBox: SecretBox;
  metrics: Metrics;
  alice: Person;
  bob: Person;
  /** Creates a user; `admin` is an admin. */
  addPerson(name: string): Promise<Person>;
  keyFor(person: Person, ...scopes: string[]): Promise<string>;
  /** Sends a request; `body` is sent as JSON unless it is text or bytes. */
  call(method: string, url: string, options?: CallOptions): Promise<LightMyRequestResponse>;
  /** Answers a request of an outer server, in the revision that it asks for. */
  /** Sends any request to the app of the revision in its path. Its answer is not checked. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  handle: RequestListener;
  /** Sends a request to the app of REST v1, as `call` does to that of REST v2. */
  callV1(method: string, url: string, options?: CallOptions): Promise<LightMyRequestResponse>;
  /** Sends a document to `/graphql` with the key as `?api_key=`. The status must be 200 unless another one is expected. */
  graphql(query: string, options?: GraphqlOptions): Promise<GraphqlAnswer>;
  /** Sends any request to `/graphql`. */
  callGraphql(options: InjectOptions): Promise<LightMyRequestResponse>;
  /** Opens a port of its own for `/graphql`; returns its URL. Call it before anything else of GraphQL's. */
  listenToGraphql(): Promise<string>;
  close(): Promise<void>;
}

interface GraphqlOptions {
  key?: string;
  variables?: object;
  operationName?: string;
  status?: number;
}

export interface GraphqlAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any answer
  data: any;
  errors?: { message: string; path?: (string | number)[]; locations?: object[]; extensions: { code: string } }[];
}

export interface CallOptions {
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** The revision that the key asks for, if it does. */
  revision?: RestRevision;
}

/**
 * Starts the real app with its own database and two unrelated users. Every answer is checked against the OpenAPI description: a
 * wrong answer to `call` throws there, one to a client of an outer server throws in `close`.
 */
export async function startRestApp(
  options: {
    rateLimiter?: RateLimiter;
    capacity?: CapacitySource;
    podFigures?: PodFigures;
    logger?: Logger;
    isIntrospectable?: boolean;
    maxMetricsEndpoints?: number;
    hasV1?: boolean;
    takesSeveralUsers?: boolean;
    vouchers?: Vouchers;
    /** Where models come from: nowhere, unless a test has a hub. */
    hubUrl?: string;
    /** Absent: those that come with Podyard. */
    recipes?: Recipe[];
    /** The revision of plain `/v2`. */
    restRevision?: RestRevision;
    mail?: MailSettings;
    allowPrivateWebhooks?: boolean;
  } = {},
): Promise<RestFixture> {
  const database = await createTestDatabase();
  const { pool } = database;
  const bus = new Bus({ pool, databaseUrl: database.url, processId: newId(8), logger: silentLogger });
  await bus.start();
  const secretBox = createSecretBox(randomBytes(32));
  const metrics = new Metrics({ maxEndpoints: options.maxMetricsEndpoints ?? 50 });
  const webhooks = new WebhookPolicy({ allowPrivate: options.allowPrivateWebhooks ?? false, allowed: [] });
  const deps = {
    pool,
    bus,
    keyRing: new KeyRing({ pool, bus, clock: systemClock, vouchers: options.vouchers ?? null }),
    rateLimiter: options.rateLimiter ?? unlimited,
    answers: new AnswerBudget(64 * 2 ** 20),
    logSearches: new LogSearches(),
    secretBox,
    capacity: options.capacity ?? { read: async () => ({ gpus: [], cpus: 0, memoryBytes: 0 }) },
    podFigures: options.podFigures ?? { read: async () => new Map() },
    webhooks,
    own: { isLocalOn: true },
    notices: new NoticePost({ mail: options.mail ?? null, webhooks, publicUrl: 'http://podyard.test:8080' }),
    models: createModelOrigins({ hubUrl: options.hubUrl ?? 'http://127.0.0.1:1', webhooks }),
    recipes: options.recipes ?? (await readRecipes(null)),
    facts: {
      id: 'installation',
      version: '1.2.3',
      runtime: 'simulated' as const,
      isIsolated: true,
      areGpusSimulated: true,
      takesSeveralUsers: options.takesSeveralUsers ?? true,
      freeze: 'freezer' as const,
      sleep: async () => 'COOPERATIVE' as const,
      notices: ['No worker really runs'],
      problems: async () => ['GPU 1 does not answer'],
    },
    metrics,
    metricsPage: new MetricsPage({ metrics, pool, pools: { main: pool }, token: METRICS_TOKEN }),
    readiness: new Readiness({ pool, health: { writeFault: null }, findFullDisk: async () => null }),
    logger: options.logger ?? silentLogger,
    clock: systemClock,
  };
  const plain = options.restRevision ?? REST_REVISIONS[0];
  const restDeps = {
    ...deps,
    publicUrlFor: () => 'http://podyard.test:8080',
    lbHost: null,
    builds: { hindrance: null, findScarceDisk: async () => null },
    workloadOptions: { podMetadata: ['example.com/team'], maxCpusPerGpu: 8, maxMemoryGbPerGpu: null },
    terminal: { perUser: 3, perProcess: 100, idleMs: 60_000 },
    hasV1: options.hasV1 ?? false,
  };
  const apps = new RestApps(restDeps, { plain, isWhole: true });
  const app = await apps.get(plain);
  let v1App: RestApp | undefined;
  let graphqlApp: FastifyInstance | undefined;
  const getGraphqlApp = async () => {
    const { buildGraphqlApp } = await import('../src/graphql/app.ts'); // most tests do not need it
    graphqlApp ??= buildGraphqlApp({ ...deps, isIntrospectable: options.isIntrospectable ?? true });
    return graphqlApp;
  };
  const callGraphql = async (request: InjectOptions) => (await getGraphqlApp()).inject(request);
  const wrong: Error[] = [];
  const routing = app.routing;
  app.routing = checkedListener(routing, (error) => wrong.push(error)) as typeof routing;
  const inject = async (request: InjectOptions) => {
    const named = knownRevisionIn(String(request.url));
    return (named === null ? app : await apps.get(named)).inject(request);
  };
  const keyOf = async (userId: UserId, scopes: readonly string[]) => {
    const input = { userId, name: 'test', scopes: scopes.map(parseScope), expiresAt: null };
    return (await change({ pool, bus, clock: systemClock }, null, createApiKey, input)).secret;
  };
  const person = async (name: string): Promise<Person> => {
    const { id } = await createUser(pool, { name, email: null, role: name === FIRST_USER ? 'ADMIN' : 'USER' });
    return { userId: id, key: await keyOf(id, ['all']) };
  };
  return {
    app,
    database,
    bus,
    secretBox,
    metrics,
    alice: await person('alice'),
    bob: await person('bob'),
    addPerson: person,
    keyFor: ({ userId }, ...scopes) => keyOf(userId, scopes),
    call: async (method, url, { revision, ...options } = {}) => {
      const named = knownRevisionIn(url);
      const request = toRequest(method, url, options);
      const response = await inject(request);
      const { statusCode: status, headers: given, body: text } = response;
      checkAnswer({ method, url, status, headers: given, body: text, revision: named ?? revision ?? plain });
      return response;
    },
    inject,
    handle: (req, res) => apps.handle(req, res),
    callV1: async (method, url, options) => {
      const { buildV1App } = await import('../src/rest/v1/app.ts'); // most tests do not need it
      v1App ??= buildV1App(restDeps);
      return v1App.inject(toRequest(method, url, options));
    },
    callGraphql,
    listenToGraphql: async () => (await getGraphqlApp()).listen({ port: 0, host: '127.0.0.1' }),
    graphql: async (query, { key, status = 200, ...body } = {}) => {
      const url = key === undefined ? '/graphql' : `/graphql?api_key=${encodeURIComponent(key)}`;
      const response = await callGraphql({ method: 'POST', url, payload: { query, ...body } });
      if (response.statusCode !== status) throw new Error(`answered ${response.statusCode}: ${response.body}`);
      return response.json();
    },
    close: async () => {
      await apps.close();
      await graphqlApp?.close();
      await v1App?.close();
      await bus.stop();
      await database.drop();
      if (wrong.length > 0) throw new AggregateError(wrong, wrong.map(messageOf).join('\n'));
    },
  };
}

function toRequest(method: string, url: string, { key, body, headers }: CallOptions = {}): InjectOptions {
  const request: InjectOptions = { method: method as 'GET', url, headers: { ...headers } };
  if (key !== undefined) request.headers = { ...request.headers, authorization: `Bearer ${key}` };
  if (body !== undefined) {
    request.headers = { 'content-type': 'application/json', ...request.headers };
    request.payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  }
  return request;
}
