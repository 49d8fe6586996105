import type { Server } from 'node:http';
import { createFront, serveNewCertificates } from './compose/create-front.ts';
import { createRuntime } from './compose/create-runtime.ts';
import { close, hostInUrl, listen } from './compose/listen.ts';
import { startControl } from './compose/start-control.ts';
import type { Config } from './config.ts';
import { makePartitions } from './control/clean-up.ts';
import { CleanUpStack } from './core/clean-up-stack.ts';
import { systemClock } from './core/clock.ts';
import { newId } from './core/ids.ts';
import type { Logger } from './core/logger.ts';
import { Metrics } from './core/metrics.ts';
import type { Tracing } from './core/tracing.ts';
import { DataPlane } from './dataplane/data-plane.ts';
import { readCertificate } from './dataplane/proxy/certificate.ts';
import { Bus } from './db/bus.ts';
import { startEmbeddedServer } from './db/embedded-server.ts';
import { migrate } from './db/migrate.ts';
import { createPool, type Pool } from './db/pool.ts';
import { ensureFirstUser } from './domain/access/ensure-first-user.ts';
import { KeyRing } from './domain/access/key-ring.ts';
import { createCapacitySource } from './domain/catalog/capacity-source.ts';
import { useCatalog } from './domain/catalog/catalog.ts';
import { readCatalogFile } from './domain/catalog/read-catalog-file.ts';
import type { Context } from './domain/context.ts';
import { ensureInstallation, type Installation, saveWorkerApiPort } from './domain/installation.ts';
import { QUEUE_SETTINGS } from './domain/jobs/job-queue.ts';
import { refuseMoved } from './domain/move-mark.ts';
import { createPodFigures } from './domain/pods/pod-figures.ts';
import { openSecretBox } from './domain/secrets/open-secret-box.ts';
import { type RateLimiter, SharedRateLimiter, unlimited } from './http/rate-limiter.ts';
import { MetricsPage } from './rest/metrics-page.ts';
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
  /** Answers what is held, stops accepting, lets what runs finish; workers go on unless the configuration says otherwise. */
  stop(): Promise<void>;
}

/** Builds everything from the configuration and starts it: the only place that constructs. Undoes all of it on failure. */
export async function startServer(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
): Promise<RunningServer> {
  const cleanUp = new CleanUpStack();
  try {
    return await start(config, logger, onProgress, cleanUp);
  } catch (error) {
    await cleanUp.run();
    throw error;
  }
}

async function start(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
  cleanUp: CleanUpStack,
): Promise<RunningServer> {
  const clock = systemClock;
  const metrics = new Metrics(config.metrics);
  cleanUp.add(metrics.watchEventLoop());
  const tracing = await startTracing(config, logger, cleanUp);
  if (config.catalogFile !== null) useCatalog(await readCatalogFile(config.catalogFile));
  const loading = import('./rest/app.ts'); // half of all code: it loads while the database starts
  const databaseUrl = config.databaseUrl ?? (await startDatabase(config, logger, onProgress, cleanUp));
  const { pool, queuePool } = openPools(databaseUrl, cleanUp);
  await migrate(pool);
  await refuseMoved(pool);
  await makePartitions(pool, config.limits, clock.now()); // before the first result
  const secretBox = await openSecretBox(pool, config.masterKey);
  const bus = new Bus({ pool, databaseUrl, processId: newId(8), logger });
  cleanUp.add(() => bus.stop());
  const [installation, firstUser] = await Promise.all([
    ensureInstallation(pool),
    ensureFirstUser({ pool, bus }, config.adminKey),
    bus.start(),
  ]);
  const keyRing = new KeyRing({ pool, bus, clock });
  const { runtime, storage, notices } = await createRuntime(config, installation, { pool, bus, logger });
  cleanUp.add(() => runtime.close());
  const data = new DataPlane({
    pool,
    queuePool,
    bus,
    keyRing,
    clock,
    limits: config.limits,
    loadBalancing: config.loadBalancing,
    // Without isolation a worker's port is one of this machine, and another program's after the worker's death.
    reachWorker: runtime.capabilities.isolation ? null : (id, port) => runtime.reach(id, port),
    metrics,
    tracing,
    logger,
  });
  const workerApiUrl = await listenForWorkers(config, pool, installation, runtime, data.workerServer, cleanUp);
  data.start();
  const rateLimiter = createRateLimiter(config, databaseUrl, cleanUp);
  const capacity = createCapacitySource({ pool, clock, readRuntime: () => runtime.capacity() });
  const podFigures = createPodFigures({ clock, readUsage: (podId) => runtime.stats(podId) });
  const shared = { pool, bus, clock, logger, metrics, tracing, secretBox, data };
  const { buildRestApp } = await loading;
  const front = createFront(config, buildRestApp, {
    ...shared,
    runtime,
    tls: config.tls === null ? null : await readCertificate(config.tls),
    keyRing,
    rateLimiter,
    capacity,
    podFigures,
    metricsPage: new MetricsPage({
      metrics,
      pool,
      pools: { main: pool, queue: queuePool },
      token: config.metrics.token,
    }),
    cleanUp,
  });
  serveNewCertificates(config, logger, front, cleanUp);
  const control = startControl(config, { ...shared, runtime, storage, workerApiUrl, databaseUrl });
  cleanUp.add(async () => {
    await control.stop();
    await data.stop();
  });
  await control.started;
  const port = await listen(front.server, config.port, config.host).catch((error) => throwPortInUse(error, config));
  return {
    url: config.publicUrl ?? `${config.tls === null ? 'http' : 'https'}://${hostInUrl(config.host)}:${port}`,
    port,
    databaseUrl,
    runtime: runtime.name,
    newKey: firstUser.newSecret,
    notices,
    stop: () => cleanUp.run(),
  };
}

/** One for everything, and one for the statements of the queue. */
function openPools(databaseUrl: string, cleanUp: CleanUpStack): { pool: Pool; queuePool: Pool } {
  const pool = createPool({
    databaseUrl,
    applicationName: 'podyard',
    maxConnections: 16,
    settings: { enable_seqscan: 'off', jit: 'off' }, // plans are kept, and tables that are empty now will not stay so
  });
  cleanUp.add(() => pool.end());
  const queuePool = createPool({
    databaseUrl,
    applicationName: 'podyard',
    maxConnections: 10,
    settings: QUEUE_SETTINGS,
  });
  cleanUp.add(() => queuePool.end());
  return { pool, queuePool };
}

function throwPortInUse(error: NodeJS.ErrnoException, { port, host }: Config): never {
  if (error.code !== 'EADDRINUSE') throw error;
  const what = `port ${port} of ${host} is in use by another program`;
  throw new Error(`${what}: choose another one with --port, or any free one with --port 0`);
}

/** Where no exporter is configured, nothing of OpenTelemetry is loaded. */
async function startTracing(config: Config, logger: Logger, cleanUp: CleanUpStack): Promise<Tracing | null> {
  if (config.tracing === null) return null;
  const { startOtlpTracing } = await import('./core/otlp-tracing.ts');
  const tracing = startOtlpTracing(config.tracing, logger);
  cleanUp.add(() => tracing.stop());
  return tracing;
}

/** The database alone, for commands that work on it directly; a server that uses it at the same time hears of changes. */
export async function openDatabase<T>(
  config: Config,
  logger: Logger,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const cleanUp = new CleanUpStack();
  try {
    const databaseUrl = config.databaseUrl ?? (await startDatabase(config, logger, () => {}, cleanUp));
    const pool = createPool({ databaseUrl, applicationName: 'podyard', maxConnections: 2 });
    cleanUp.add(() => pool.end());
    await migrate(pool);
    await refuseMoved(pool);
    const bus = new Bus({ pool, databaseUrl, processId: newId(8), logger });
    cleanUp.add(() => bus.stop());
    await bus.start();
    return await work({ pool, bus });
  } finally {
    await cleanUp.run();
  }
}

/** The embedded database as it is, for commands that move all of it. */
export async function openEmbedded<T>(
  config: Config,
  logger: Logger,
  work: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const cleanUp = new CleanUpStack();
  try {
    return await work(await startDatabase(config, logger, () => {}, cleanUp));
  } finally {
    await cleanUp.run();
  }
}

async function startDatabase(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
  cleanUp: CleanUpStack,
): Promise<string> {
  onProgress('starting the embedded PostgreSQL');
  const server = await startEmbeddedServer({ dataDir: config.dataDir, logger });
  cleanUp.add(() => server.stop());
  return server.databaseUrl;
}

/**
 * The worker API listens where workloads can reach it and nowhere else. Its port stays the same over restarts, because
 * running workers know no other; if something else took it meanwhile, a new one is used and old workers are replaced.
 */
async function listenForWorkers(
  config: Config,
  pool: Pool,
  installation: Installation,
  runtime: Runtime,
  server: Server,
  cleanUp: CleanUpStack,
): Promise<string> {
  const { bind, host } = await runtime.workerApiAddress();
  const wanted = config.workerApiPort ?? installation.workerApiPort;
  // Workers ask whoever has the data plane: they must be able to when this process is gone.
  if (!config.roles.has('data') && wanted !== 0) return `http://${hostInUrl(host)}:${wanted}`;
  const port = await listen(server, wanted, bind).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE' || config.workerApiPort) throw error;
    return listen(server, 0, bind);
  });
  cleanUp.add(() => close(server));
  if (port !== installation.workerApiPort) await saveWorkerApiPort(pool, port);
  return `http://${hostInUrl(host)}:${port}`;
}

/** One connection of its own: counts go through it one batch after the other, and wait neither for others nor for the disk. */
function createRateLimiter(config: Config, databaseUrl: string, cleanUp: CleanUpStack): RateLimiter {
  if (config.rateLimit === null) return unlimited;
  const pool = createPool({
    databaseUrl,
    applicationName: 'podyard',
    maxConnections: 1,
    settings: { synchronous_commit: 'off' },
  });
  cleanUp.add(() => pool.end());
  return new SharedRateLimiter({ pool, quotas: config.rateLimit });
}
