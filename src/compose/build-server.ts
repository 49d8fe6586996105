import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config, Role } from '../config/config.ts';
import { newId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { Metrics } from '../core/metrics.ts';
import type { Tracing } from '../core/tracing.ts';
import { DataPlane } from '../dataplane/data-plane.ts';
import { readClock } from '../dataplane/wire/read-clock.ts';
import { streamBinding } from '../dataplane/wire/stream-binding.ts';
import { SocketTransport } from '../dataplane/wire/transport.ts';
import { TrustedProxies } from '../dataplane/wire/trusted-proxies.ts';
import { Bus } from '../db/bus.ts';
import { DatabaseClock } from '../db/database-clock.ts';
import { DatabaseHealth } from '../db/database-health.ts';
import { findFullDisk as findFullDiskOf } from '../db/full-disk.ts';
import { migrate } from '../db/migrate.ts';
import { findPooler } from '../db/pooler.ts';
import { ensureFirstUser } from '../domain/access/ensure-first-user.ts';
import { openHubAccess } from '../domain/access/hub-access.ts';
import { KeyRing } from '../domain/access/key-ring.ts';
import { refuseSharedProcesses } from '../domain/access/refuse-shared-processes.ts';
import { RefusalLog } from '../domain/audit/refusal-log.ts';
import { RefusedKeyLog } from '../domain/audit/refused-key-log.ts';
import { useCatalog } from '../domain/catalog/catalog.ts';
import { ActivityReporter } from '../domain/history/activity-reporter.ts';
import { type RegistryPolicy, useRegistries } from '../domain/images/registry-policy.ts';
import { ensureInstallation } from '../domain/installation.ts';
import { makePartitions } from '../domain/jobs/job-retention.ts';
import { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import { readRecipes } from '../domain/models/read-recipes.ts';
import { refuseMoved } from '../domain/move-mark.ts';
import { openSecretBox } from '../domain/secrets/open-secret-box.ts';
import { Readiness } from '../http/readiness.ts';
import { createModelOrigins } from '../models/origins/model-origins.ts';
import { type ProcessFigures, readProcessFigures } from '../rest/installation/process-figures.ts';
import type { WorkloadStorage } from '../runtimes/runtime.ts';
import { ProxySignIn } from '../sign-in/local/proxy-sign-in.ts';
import type { OwnSignIn } from '../sign-in/local/read-own-sign-in.ts';
import type { Provider } from '../sign-in/read-providers.ts';
import { createBuilder } from './create-builder.ts';
import { createHub, createWorkloadHub } from './create-hub.ts';
import { createNoticePost } from './create-notice-post.ts';
import { checkEngine, createRuntime } from './create-runtime.ts';
import { describeInstallation } from './describe-installation.ts';
import { hostInUrl } from './front/listen.ts';
import { servePorts } from './front/serve-ports.ts';
import { moveWorkloads, prepareEgress, startEgress } from './limit-egress.ts';
import { openPools } from './open-database.ts';
import { serveByProcesses } from './process/serve-by-processes.ts';
import { CONTROL_ALONE, compactWhenIdle, disablePretenuring, SERVING } from './process/v8-memory.ts';
import type { CleanUpStack, ServerParts, Serving } from './serving.ts';
import { startControl } from './start-control.ts';
import { type LaunchedDatabase, recordServer } from './start-database.ts';

export interface RunningServer {
  /** Where clients reach it. */
  url: string;
  port: number;
  databaseUrl: string;
  runtime: string;
  /** The first API key, if this start created it. Show it once. */
  newKey: string | null;
  /** Sentences for the operator to read once. */
  notices: string[];
  /** How other processes name this one. */
  processId: string;
  /** The metrics of this process. */
  metrics: Metrics;
  readFigures(): Promise<ProcessFigures>;
  /**
   * Reports itself as not ready, answers held requests, stops accepting, and lets running requests finish. Workers keep
   * running unless the configuration says otherwise. `isHasty`: without `stopDelayMs` for load balancers to notice.
   */
  stop(options?: { isHasty: boolean }): Promise<void>;
}

/** Given to a data process by the process that started it. */
export interface Companion {
  /** `/metrics` of all processes. */
  readPage: () => Promise<string>;
}

const MAX_CONNECTIONS = 16;
/** Connections of each process where several share the database. */
const MAX_SHARED_CONNECTIONS = 8;
/** Data processes count every endpoint by name; the limit applies to the first process's sum. */
const ALL_ENDPOINTS = 100_000;

const POOLER_NOTICE =
  'a connection pooler in session mode is in front of the database: its pool needs 50 connections for each Podyard process';

/** Shared by the steps of a start. */
export interface Start {
  config: Config;
  /** Those of this process itself: the first of several serves nothing. */
  roles: ReadonlySet<Role>;
  isFirstOfSeveral: boolean;
  logger: Logger;
  database: LaunchedDatabase;
  /** Given to a data process, which shares its ports with others. */
  companion: Companion | null;
  /** The module that each data process runs. */
  dataProcessFile: string;
  cleanUp: CleanUpStack;
}

/** Builds the server and starts it. What undoes it is in `cleanUp`, also when it fails half-way. */
export async function buildServer(options: Start): Promise<RunningServer> {
  const { config, roles, isFirstOfSeveral, companion, logger, cleanUp } = options;
  const observability = await startObservability(options);
  if (config.catalogFile !== null) {
    const { readCatalogFile } = await import('../domain/catalog/read-catalog-file.ts');
    useCatalog(await readCatalogFile(config.catalogFile));
  }
  const { providers, own } = await readSignIn(config.signIn.providersFile);
  const recipes = await readRecipes(config.recipesFile);
  const loadingRest = isFirstOfSeveral ? null : import('../rest/rest-apps.ts'); // a third of all code: loads while the database starts
  const engine = checkEngine(config, logger); // beside the database
  const database = await prepareDatabase(options);
  const { newKey, ...identity } = await joinInstallation(options, database, own);
  const { pool } = database;
  const created = await createRuntime(config, identity.installation, { pool, bus: identity.bus, logger, engine });
  const { runtime, storage, notices } = created;
  cleanUp.add(() => runtime.close()); // after the worker API, so that egress knows whether another process serves it
  const guard = (roles.has('control') && created.guard) || null;
  notices.push(...(await prepareEgress(config, { runtime, guard }, pool)));
  const findFullDisk = async () => (config.databaseUrl === null ? findFullDiskOf(config.dataDir) : null);
  const facts = describeInstallation(identity.installation.id, runtime, {
    notices: [...config.warnings, ...notices],
    allowInsecureProcesses: config.allowInsecureProcesses,
    dataDir: config.dataDir,
    gpuProblem: created.gpuProblem ?? (() => null),
  });
  if (runtime.name === 'process' && !config.allowInsecureProcesses) await refuseSharedProcesses(pool);
  const webhooks = new WebhookPolicy(config.webhooks);
  const models = createModelOrigins({ hubUrl: config.hubUrl, webhooks });
  const refusals = new RefusalLog(pool);
  cleanUp.add(() => refusals.flush());
  const hubAccess = config.models.hubBudgetBytes === null ? null : await openHubAccess(pool, identity.secretBox);
  const noticePost = await createNoticePost(config, webhooks);
  const outside = { webhooks, models, recipes, providers, own, hubAccess, notices: noticePost };
  const base = { ...observability, ...database, ...identity, ...outside, logger, runtime, facts, refusals, cleanUp };
  startReporter(base);
  const data = createDataPlane(config, base);
  const parts: ServerParts = { ...base, data, readiness: new Readiness({ ...base, findFullDisk }) };
  if (guard) await moveWorkloads(guard, parts);
  const serving = isFirstOfSeveral
    ? await serveByProcesses(config, parts, options.dataProcessFile)
    : await servePorts(config, await loadingRest!, { ...parts, storage }, companion?.readPage ?? null);
  useRegistries(registryPolicyOf(config, { port: config.port, workerApiUrl: serving.workerApiUrl }));
  if (guard) await startEgress(guard, serving.workerApiUrl);
  await takeControl(options, parts, serving, storage);
  const port = await serving.begin();
  useRegistries(registryPolicyOf(config, { port, workerApiUrl: serving.workerApiUrl })); // port 0 is known now
  const described = describeServer(config, parts, port);
  noticePost.useUrl(described.url);
  const fullDisk = await findFullDisk();
  if (fullDisk !== null) described.notices = [...described.notices, fullDisk.replace(/\.$/, '')];
  return { ...described, newKey, stop: stopOf(options, parts, serving) };
}

/** Without a file, people may be invited. */
async function readSignIn(file: string | null): Promise<{ providers: Provider[]; own: OwnSignIn }> {
  if (file === null) return { providers: [], own: { isLocalOn: true, proxy: null } };
  const { readProviders } = await import('../sign-in/read-providers.ts');
  const { readOwnSignIn } = await import('../sign-in/local/read-own-sign-in.ts');
  return { providers: await readProviders(file), own: await readOwnSignIn(file) };
}

async function startObservability(options: Start): Promise<{ metrics: Metrics; tracing: Tracing | null }> {
  const { config, logger, companion, cleanUp } = options;
  const metrics = new Metrics({ maxEndpoints: companion ? ALL_ENDPOINTS : config.metrics.maxEndpoints });
  cleanUp.add(metrics.watchEventLoop());
  const isControlAlone = options.roles.size === 1 && options.roles.has('control');
  cleanUp.add(compactWhenIdle(isControlAlone ? CONTROL_ALONE : SERVING));
  if (config.tracing === null) return { metrics, tracing: null };
  const { startOtlpTracing } = await import('./otlp-tracing.ts'); // OpenTelemetry is loaded only when it is used
  const tracing = startOtlpTracing(config.tracing, logger);
  cleanUp.add(() => tracing.stop());
  return { metrics, tracing };
}

/** Waits for the database, and brings the schema up to date. */
async function prepareDatabase(
  options: Start,
): Promise<Pick<ServerParts, 'databaseUrl' | 'pool' | 'queuePool' | 'clock' | 'health'>> {
  const { config, logger, companion, cleanUp } = options;
  const databaseUrl = await options.database.url;
  if (config.databaseUrl === null) cleanUp.add(await recordServer(config.dataDir));
  else if (await findPooler(databaseUrl)) logger.info({}, POOLER_NOTICE);
  const pools = openPools(databaseUrl, companion ? MAX_SHARED_CONNECTIONS : MAX_CONNECTIONS, cleanUp);
  const health = new DatabaseHealth({ pool: pools.pool, logger });
  for (const pool of [pools.pool, pools.queuePool]) health.watch(pool);
  cleanUp.add(async () => health.stop());
  await migrate(pools.pool);
  await refuseMoved(pools.pool);
  const clock = new DatabaseClock({ pool: pools.pool, monotonic: readClock, logger });
  await clock.adopt();
  clock.start();
  cleanUp.add(() => clock.stop());
  await makePartitions(pools.pool, config.limits, clock.now()); // before the first result
  return { databaseUrl, ...pools, clock, health };
}

/** Makes this process known to the others; creates the installation and its first user where there are none. */
async function joinInstallation(
  { config, roles, logger, cleanUp }: Start,
  { pool, databaseUrl, clock }: Pick<ServerParts, 'databaseUrl' | 'pool' | 'clock'>,
  own: OwnSignIn,
): Promise<Pick<ServerParts, 'secretBox' | 'bus' | 'installation' | 'keyRing' | 'proxy'> & { newKey: string | null }> {
  const secretBox = await openSecretBox(pool, config.masterKey);
  const bus = new Bus({ pool, databaseUrl, processId: newId(8), roles: [...roles], logger });
  cleanUp.add(() => bus.stop());
  const [installation, firstUser] = await Promise.all([
    ensureInstallation(pool),
    ensureFirstUser({ pool, bus }, config.adminKey),
    bus.start(),
  ]);
  bus.subscribe('clock', () => void clock.adopt().catch(() => {})); // else its own loop does
  const refusedKeys = new RefusedKeyLog(pool);
  cleanUp.add(() => refusedKeys.flush());
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  const proxy = own.proxy === null ? null : new ProxySignIn(own.proxy, { trustedProxies, logger });
  const keyRing = new KeyRing({
    ...{ pool, bus, clock, trustedProxies, vouchers: proxy },
    onRefused: (refused) => refusedKeys.add(refused),
  });
  return { secretBox, bus, installation, keyRing, proxy, newKey: firstUser.newSecret };
}

/** Stops after everything that it reports, and before the database. */
function startReporter({ pool, metrics, clock, logger, cleanUp }: Omit<ServerParts, 'data' | 'readiness'>): void {
  const reporter = new ActivityReporter({ pool, activity: metrics.activity, clock, logger });
  cleanUp.add(() => reporter.stop());
  reporter.start();
}

function createDataPlane(config: Config, parts: Omit<ServerParts, 'data' | 'readiness'>): DataPlane {
  if (config.roles.has('data')) disablePretenuring();
  countFallbackWrites(parts);
  const { runtime } = parts;
  return new DataPlane({
    ...parts,
    monotonic: readClock,
    limits: config.limits,
    loadBalancing: config.loadBalancing,
    hub: config.roles.has('data') ? createHub(config, parts) : null,
    // Without isolation a worker's port is one of this machine, which another program may take after the worker's death.
    reachWorker: runtime.capabilities.isolation ? null : (id, port) => runtime.reach(id, port),
  });
}

/** Warns where Node.js has no binding for the fast way to write, and counts what takes the slower one. */
function countFallbackWrites({ metrics, logger }: Pick<ServerParts, 'metrics' | 'logger'>): void {
  if (streamBinding !== null) return;
  SocketTransport.onFallback = () => metrics.fallbackWrites.add();
  logger.warn(
    { node: process.version },
    'this version of Node.js lacks stream_wrap: each request takes about 10 µs more',
  );
}

/** Resolves when this process leads, or waits to lead, where its roles say so. */
async function takeControl(
  { config, roles, cleanUp }: Start,
  parts: ServerParts,
  serving: Serving,
  storage: WorkloadStorage | null,
): Promise<void> {
  const { workerApiUrl } = serving;
  const hub = createWorkloadHub(parts, workerApiUrl);
  const builder = roles.has('control') ? await createBuilder(config, parts) : null;
  const control = startControl({ ...config, roles }, { ...parts, storage, builder, workerApiUrl, hub });
  cleanUp.add(async () => {
    await control.stop();
    await serving.end();
  });
  await control.started;
}

function describeServer(config: Config, parts: ServerParts, port: number): Omit<RunningServer, 'newKey' | 'stop'> {
  const { databaseUrl, runtime, facts, bus, metrics, pool, queuePool } = parts;
  const protocol = config.tls === null ? 'http' : 'https';
  return {
    url: config.publicUrl ?? `${protocol}://${hostInUrl(config.host)}:${port}`,
    port,
    databaseUrl,
    runtime: runtime.name,
    notices: facts.notices,
    processId: bus.processId,
    metrics,
    readFigures: () => readProcessFigures({ main: pool, queue: queuePool }),
  };
}

function stopOf(options: Start, { readiness }: ServerParts, serving: Serving): RunningServer['stop'] {
  const { config, isFirstOfSeveral, companion, cleanUp } = options;
  return async ({ isHasty } = { isHasty: false }) => {
    readiness.end();
    // Data processes wait themselves.
    if (!isHasty && !isFirstOfSeveral) {
      serving.drain();
      await sleep(config.stopDelayMs);
      await Promise.race([serving.whenNothingHeld(), sleep(config.stopGraceMs, undefined, { ref: false })]);
    }
    if (companion) serving.stopAccepting();
    await cleanUp.run();
  };
}

/** Returns the registries that images may come from: not Podyard's own ports, whatever the machine is called. */
export function registryPolicyOf(
  { publicUrl, proxyHost, lbHost, registries, builds }: Config,
  { port, workerApiUrl }: { port: number; workerApiUrl: string },
): RegistryPolicy {
  const named = [publicUrl, workerApiUrl, proxyHost && `http://${proxyHost}`, lbHost && `http://${lbHost}`];
  const hosts = named.flatMap((text) => (text ? [new URL(text).hostname.toLowerCase()] : []));
  const workerPort = workerApiUrl === '' ? [] : [Number(new URL(workerApiUrl).port)];
  const ownHosts = [hostname().toLowerCase(), ...hosts];
  return { allowed: registries, ownHosts, ownPorts: [port, ...workerPort], builds: builds.registry };
}
