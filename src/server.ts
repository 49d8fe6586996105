import { setTimeout as sleep } from 'node:timers/promises';
import { createFront, serveNewCertificates } from './compose/create-front.ts';
import { createRuntime } from './compose/create-runtime.ts';
import type { DataProcesses } from './compose/data-processes.ts';
import { describeInstallation } from './compose/describe-installation.ts';
import { hostInUrl, listen, reservePort, rethrowPortInUse } from './compose/listen.ts';
import { createRateLimiter, openPools, startDatabase } from './compose/open-database.ts';
import { startControl } from './compose/start-control.ts';
import { findWorkerApi, listenForWorkers, reserveWorkerApi } from './compose/worker-listener.ts';
import type { Config, Role } from './config.ts';
import { makePartitions } from './control/housekeeping/clean-up.ts';
import { CleanUpStack } from './core/clean-up-stack.ts';
import { systemClock } from './core/clock.ts';
import { newId } from './core/ids.ts';
import type { Logger } from './core/logger.ts';
import { Metrics } from './core/metrics.ts';
import type { SecretBox } from './core/secret-box.ts';
import type { Tracing } from './core/tracing.ts';
import { DataPlane } from './dataplane/data-plane.ts';
import { readCertificate } from './dataplane/proxy/certificate.ts';
import { Bus } from './db/bus.ts';
import { migrate } from './db/migrate.ts';
import type { Pool } from './db/pool.ts';
import { ensureFirstUser } from './domain/access/ensure-first-user.ts';
import { KeyRing } from './domain/access/key-ring.ts';
import { createCapacitySource } from './domain/catalog/capacity-source.ts';
import { useCatalog } from './domain/catalog/catalog.ts';
import { readCatalogFile } from './domain/catalog/read-catalog-file.ts';
import { ensureInstallation, type Installation } from './domain/installation.ts';
import type { InstallationFacts } from './domain/installation-facts.ts';
import { refuseMoved } from './domain/move-mark.ts';
import { createPodFigures } from './domain/pods/pod-figures.ts';
import { openSecretBox } from './domain/secrets/open-secret-box.ts';
import { Readiness } from './http/readiness.ts';
import { MetricsPage } from './rest/installation/metrics-page.ts';
import { type ProcessFigures, readProcessFigures } from './rest/installation/process-figures.ts';
import type { Runtime } from './runtimes/runtime.ts';

export interface RunningServer {
  /** Where clients reach it. */
  url: string;
  port: number;
  databaseUrl: string;
  runtime: string;
  /** The first key, when it was made by this start: to be shown once. */
  newKey: string | null;
  /** Sentences an operator should read once. */
  notices: string[];
  /** How other processes call this one. */
  processId: string;
  /** What this process counted, and how it is. */
  metrics: Metrics;
  readFigures(): Promise<ProcessFigures>;
  /**
   * Is not ready any more, answers what is held, stops accepting, lets what runs finish; workers go on unless the
   * configuration says otherwise. `isHasty`: without the time for others to notice.
   */
  stop(options?: { isHasty: boolean }): Promise<void>;
}

/** For a process that serves its ports together with others. */
export interface Companion {
  /** `/metrics` of all of them. */
  readPage: () => Promise<string>;
}

const MAX_CONNECTIONS = 16;
/** Of each of several processes. */
const MAX_SHARED_CONNECTIONS = 8;
/** Several processes name all endpoints; it is the first one that has to choose. */
const ALL_ENDPOINTS = 100_000;

/** Builds everything from the configuration and starts it: the only place that constructs. Undoes all of it on failure. */
export async function startServer(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
  companion: Companion | null = null,
): Promise<RunningServer> {
  const cleanUp = new CleanUpStack();
  try {
    return await start(config, logger, onProgress, companion, cleanUp);
  } catch (error) {
    await cleanUp.run();
    throw error;
  }
}

async function start(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
  companion: Companion | null,
  cleanUp: CleanUpStack,
): Promise<RunningServer> {
  const isFirstOfSeveral = config.dataProcesses > 1;
  const roles = isFirstOfSeveral ? only(config, 'control') : config.roles;
  const metrics = new Metrics({ maxEndpoints: companion ? ALL_ENDPOINTS : config.metrics.maxEndpoints });
  cleanUp.add(metrics.watchEventLoop());
  const tracing = await startTracing(config, logger, cleanUp);
  if (config.catalogFile !== null) useCatalog(await readCatalogFile(config.catalogFile));
  const loading = isFirstOfSeveral ? null : import('./rest/app.ts'); // half of all code: it loads while the database starts
  const databaseUrl = config.databaseUrl ?? (await startDatabase(config, logger, onProgress, cleanUp));
  const { pool, queuePool } = openPools(databaseUrl, companion ? MAX_SHARED_CONNECTIONS : MAX_CONNECTIONS, cleanUp);
  await migrate(pool);
  await refuseMoved(pool);
  await makePartitions(pool, config.limits, systemClock.now()); // before the first result
  const secretBox = await openSecretBox(pool, config.masterKey);
  const bus = new Bus({ pool, databaseUrl, processId: newId(8), roles: [...roles], logger });
  cleanUp.add(() => bus.stop());
  const [installation, firstUser] = await Promise.all([
    ensureInstallation(pool),
    ensureFirstUser({ pool, bus }, config.adminKey),
    bus.start(),
  ]);
  const keyRing = new KeyRing({ pool, bus, clock: systemClock });
  const { runtime, storage, notices } = await createRuntime(config, installation, { pool, bus, logger });
  const facts = describeInstallation(installation.id, runtime, notices);
  cleanUp.add(() => runtime.close());
  const data = new DataPlane({
    pool,
    queuePool,
    bus,
    keyRing,
    clock: systemClock,
    limits: config.limits,
    loadBalancing: config.loadBalancing,
    // Without isolation a worker's port is one of this machine, and another program's after the worker's death.
    reachWorker: runtime.capabilities.isolation ? null : (id, port) => runtime.reach(id, port),
    metrics,
    tracing,
    logger,
  });
  const shared = { pool, queuePool, bus, clock: systemClock, logger, metrics, tracing, secretBox, data };
  const parts: Parts = { ...shared, keyRing, runtime, facts, installation, databaseUrl, companion, cleanUp };
  const readiness = new Readiness({ pool });
  const serving = isFirstOfSeveral
    ? await prepareProcesses(config, parts)
    : await prepareListeners({ ...config, roles }, await loading!, { ...parts, readiness });
  const control = startControl(
    { ...config, roles },
    { ...shared, runtime, storage, workerApiUrl: serving.workerApiUrl, databaseUrl },
  );
  cleanUp.add(async () => {
    await control.stop();
    await serving.end();
  });
  await control.started;
  const port = await serving.begin();
  return {
    url: config.publicUrl ?? `${config.tls === null ? 'http' : 'https'}://${hostInUrl(config.host)}:${port}`,
    port,
    databaseUrl,
    runtime: runtime.name,
    newKey: firstUser.newSecret,
    notices: facts.notices,
    processId: bus.processId,
    metrics,
    readFigures: () => readProcessFigures({ main: pool, queue: queuePool }),
    stop: async ({ isHasty } = { isHasty: false }) => {
      readiness.end();
      // The processes that serve wait themselves.
      if (!isHasty && !isFirstOfSeveral) await sleep(config.stopDelayMs);
      if (companion) serving.stopAccepting();
      await cleanUp.run();
    },
  };
}

/** What there is before it is decided who listens. */
interface Parts {
  pool: Pool;
  queuePool: Pool;
  bus: Bus;
  logger: Logger;
  metrics: Metrics;
  tracing: Tracing | null;
  secretBox: SecretBox;
  data: DataPlane;
  keyRing: KeyRing;
  runtime: Runtime;
  facts: InstallationFacts;
  installation: Installation;
  databaseUrl: string;
  companion: Companion | null;
  cleanUp: CleanUpStack;
}

/** Whoever serves the ports: this process, or others that it starts. */
interface Serving {
  workerApiUrl: string;
  /** Resolves with the port once connections are accepted. */
  begin(): Promise<number>;
  /** Accepts nothing new: others do. */
  stopAccepting(): void;
  /** Answers what is held. */
  end(): Promise<void>;
}

/** This process serves what its roles say, on ports of its own or on those that it shares. */
async function prepareListeners(
  config: Config,
  restApp: typeof import('./rest/app.ts'),
  parts: Parts & { readiness: Readiness },
): Promise<Serving> {
  const { pool, queuePool, data, runtime, metrics, logger, companion, cleanUp } = parts;
  const isShared = companion !== null;
  const servesData = config.roles.has('data');
  const workerApiUrl = servesData
    ? await listenForWorkers(config, { ...parts, server: data.workerServer }, isShared)
    : config.roles.has('control')
      ? await findWorkerApi(config, parts)
      : ''; // who only serves the API starts no worker
  if (servesData) data.start();
  const page = new MetricsPage({
    metrics,
    pool,
    pools: { main: pool, queue: queuePool },
    token: config.metrics.token,
  });
  const front = createFront(config, restApp, {
    ...parts,
    clock: systemClock,
    tls: config.tls === null ? null : await readCertificate(config.tls),
    rateLimiter: createRateLimiter(config, parts.databaseUrl, cleanUp),
    capacity: createCapacitySource({ pool, clock: systemClock, readRuntime: () => runtime.capacity() }),
    podFigures: createPodFigures({ clock: systemClock, readUsage: (podId) => runtime.stats(podId) }),
    metricsPage: companion ? { isToken: (header) => page.isToken(header), read: companion.readPage } : page,
  });
  serveNewCertificates(config, logger, front, cleanUp);
  return {
    workerApiUrl,
    begin: () =>
      listen(front.server, config.port, config.host, isShared).catch((error) => rethrowPortInUse(error, config)),
    stopAccepting: () => {
      front.server.close();
      data.workerServer.close();
    },
    end: () => data.stop(),
  };
}

/** Others serve `api` and `data`, as many as the configuration says. */
async function prepareProcesses(config: Config, parts: Parts): Promise<Serving> {
  const { pool, queuePool, bus, metrics, logger } = parts;
  const port = await reservePort(config.port, config.host).catch((error) => rethrowPortInUse(error, config));
  const workerApiUrl = await reserveWorkerApi(config, parts);
  const { DataProcesses } = await import('./compose/data-processes.ts');
  const children: DataProcesses = new DataProcesses({
    count: config.dataProcesses,
    config: {
      ...config,
      databaseUrl: parts.databaseUrl,
      roles: only(config, 'api', 'data'),
      dataProcesses: 1,
      port,
      adminKey: null, // it is there by now
    },
    metrics,
    logger,
    readPage: () => page.read(),
    onDeath: (processId) => void bus.bury(processId).catch(() => {}), // it is forgotten in time
  });
  const page = new MetricsPage({
    metrics,
    pool,
    pools: { main: pool, queue: queuePool },
    token: null,
    others: children,
  });
  return {
    workerApiUrl,
    begin: async () => {
      await children.start();
      return port;
    },
    stopAccepting: () => {},
    end: () => children.stop(),
  };
}

function only(config: Config, ...roles: Role[]): ReadonlySet<Role> {
  return new Set(roles.filter((role) => config.roles.has(role)));
}

/** Where no exporter is configured, nothing of OpenTelemetry is loaded. */
async function startTracing(config: Config, logger: Logger, cleanUp: CleanUpStack): Promise<Tracing | null> {
  if (config.tracing === null) return null;
  const { startOtlpTracing } = await import('./core/otlp-tracing.ts');
  const tracing = startOtlpTracing(config.tracing, logger);
  cleanUp.add(() => tracing.stop());
  return tracing;
}
