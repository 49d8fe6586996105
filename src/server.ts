import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { freemem } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { Config } from './config.ts';
import { CapacityLedger } from './control/capacity-ledger.ts';
import { Cleaner, makePartitions } from './control/clean-up.ts';
import { LogCollector } from './control/collect-logs.ts';
import { WebhookDeliverer } from './control/deliver-webhooks.ts';
import { type FrozenMemory, WorkerFreezer } from './control/freeze-workers.ts';
import { VolumeKeeper } from './control/keep-volumes.ts';
import { Leadership } from './control/leader.ts';
import { UsageMeter } from './control/meter-usage.ts';
import { WorkerProber } from './control/probe-workers.ts';
import { ImagePuller } from './control/pull-ahead.ts';
import { JobRescuer } from './control/rescue-jobs.ts';
import { IncidentRunner } from './control/run-incidents.ts';
import { PodRunner } from './control/run-pods.ts';
import { WorkerRunner } from './control/run-workers.ts';
import { EndpointScaler } from './control/scale-endpoints.ts';
import { StorageDirectories } from './control/storage-directories.ts';
import { StorageQuotas } from './control/storage-quotas.ts';
import { WorkloadMounts } from './control/workload-mounts.ts';
import { CleanUpStack } from './core/clean-up-stack.ts';
import { type Clock, systemClock } from './core/clock.ts';
import { type EndpointId, newId } from './core/ids.ts';
import type { Logger } from './core/logger.ts';
import { Metrics } from './core/metrics.ts';
import type { SecretBox } from './core/secret-box.ts';
import type { Tracing } from './core/tracing.ts';
import { DataPlane, isQueuePath } from './dataplane/data-plane.ts';
import { readCertificate, watchCertificate } from './dataplane/proxy/certificate.ts';
import type { ExchangeHandler } from './dataplane/proxy/client-connection.ts';
import { findHandler, type ProxyRoutes } from './dataplane/proxy/find-handler.ts';
import { Front } from './dataplane/proxy/front.ts';
import { addresseeReader, plainName } from './dataplane/proxy/host-name.ts';
import { answerOnSharedConnection } from './dataplane/proxy/node-exchange.ts';
import { PodProxy } from './dataplane/proxy/pod-proxy.ts';
import { TrustedProxies } from './dataplane/proxy/trusted-proxies.ts';
import { Bus } from './db/bus.ts';
import { startEmbeddedServer } from './db/embedded-server.ts';
import { migrate } from './db/migrate.ts';
import { createPool, type Pool } from './db/pool.ts';
import { ensureFirstUser } from './domain/access/ensure-first-user.ts';
import { KeyRing } from './domain/access/key-ring.ts';
import { type CapacitySource, createCapacitySource } from './domain/catalog/capacity-source.ts';
import { LOCAL_DATA_CENTER, useCatalog } from './domain/catalog/catalog.ts';
import { readCatalogFile } from './domain/catalog/read-catalog-file.ts';
import type { Context } from './domain/context.ts';
import { ensureInstallation, type Installation, saveWorkerApiPort } from './domain/installation.ts';
import { QUEUE_SETTINGS } from './domain/jobs/job-queue.ts';
import { refuseMoved } from './domain/move-mark.ts';
import { findPodRoute } from './domain/pods/find-pod-route.ts';
import { createPodFigures, type PodFigures } from './domain/pods/pod-figures.ts';
import { openSecretBox } from './domain/secrets/open-secret-box.ts';
import { ensureSimulation, findSimulation, getSimulation, type SimulatedGpus } from './domain/simulation/simulation.ts';
import { isGraphqlPath, LazyGraphqlApp } from './graphql/lazy-app.ts';
import { PROBLEM_JSON } from './http/problem.ts';
import { type RateLimiter, SharedRateLimiter, unlimited } from './http/rate-limiter.ts';
import { newRequestId } from './http/request-id.ts';
import type { buildRestApp } from './rest/app.ts';
import { MetricsPage } from './rest/metrics-page.ts';
import type { Runtime } from './runtimes/runtime.ts';
import { ShortageRuntime } from './runtimes/shortage/shortage-runtime.ts';

const OWN_IMAGES_FILE = fileURLToPath(new URL('../workers/images.json', import.meta.url));
const DEFAULT_SIMULATED_GPUS: Config['simulateGpus'] = [{ pool: 'ADA_24', dataCenterId: null, total: 4 }];

/** Browsers, and most resolvers, take every name under it for this machine. */
const DEFAULT_PROXY_HOST = 'localhost';

/** Rescued jobs come in groups: so many waiting workers look for them. */
const RESCUED_AT_ONCE = 64;

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
  const { runtime, notices } = await createRuntime(config, installation, { pool, bus, logger });
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
  const control = startControl(config, { ...shared, installation, runtime, workerApiUrl, databaseUrl });
  cleanUp.add(async () => {
    await control.stop();
    await data.stop();
  });
  await control.started;
  const port = await listen(front.server, config.port, config.host).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    const what = `port ${config.port} of ${config.host} is in use by another program`;
    throw new Error(`${what}: choose another one with --port, or any free one with --port 0`);
  });
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

/** The configured runtime; with `auto` Docker when an engine answers, else processes. Libraries are loaded only when used. */
async function createRuntime(
  config: Config,
  installation: Installation,
  parts: { pool: Pool; bus: Bus; logger: Logger },
): Promise<{ runtime: Runtime; notices: string[] }> {
  const { logger } = parts;
  const simulatedGpus = (config.simulateGpus ?? DEFAULT_SIMULATED_GPUS!).map((entry) => ({
    ...entry,
    dataCenterId: entry.dataCenterId ?? LOCAL_DATA_CENTER,
  }));
  const gpus = new Map<string, number>(); // what a runtime is to believe; the runtime in front of it knows better
  const pretend = (inner: Runtime) => withShortage(inner, gpus, simulatedGpus, parts);
  const pools = simulatedGpus.map(({ pool, dataCenterId, total }) => `${pool}@${dataCenterId}:${total}`).join(', ');
  const simulated = `GPUs are simulated (${pools}): workers run on the CPU`;
  if (config.runtime === 'kubernetes') throw new Error('--runtime kubernetes is not there yet; use docker or process');
  if (config.runtime === 'simulated') {
    const { createSimulatedRuntime } = await import('./runtimes/simulated/simulated-runtime.ts');
    return {
      runtime: await pretend(createSimulatedRuntime({ gpus, installation: installation.id })),
      notices: ['No worker really runs: the runtime is simulated'],
    };
  }
  if (config.runtime !== 'process') {
    const { createDockerRuntime } = await import('./runtimes/docker/docker-runtime.ts');
    const { listNvidiaGpus } = await import('./runtimes/docker/nvidia-gpus.ts');
    const isSimulated = config.simulateGpus !== null || (await listNvidiaGpus()).length === 0;
    const docker = createDockerRuntime({
      installation: installation.id,
      gpus: isSimulated ? gpus : null,
      publishIp: config.publishIp,
      stateDir: join(config.dataDir, 'docker'),
      logger,
    });
    const cause = await docker.workerApiAddress().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (cause === undefined && isSimulated) return { runtime: await pretend(docker), notices: [simulated] };
    if (cause === undefined) {
      await ensureSimulation(parts.pool, null);
      return { runtime: docker, notices: [] };
    }
    if (config.runtime === 'docker') throw cause;
  }
  const { createProcessRuntime } = await import('./runtimes/process/process-runtime.ts');
  const runtime = createProcessRuntime({
    stateDir: join(config.dataDir, 'process'),
    hostEnv: config.hostEnv,
    imagesFiles: [...config.imagesFiles, join(config.dataDir, 'images.json'), OWN_IMAGES_FILE],
    installation: installation.id,
    gpus,
    logger,
  });
  const isolation = 'No container engine is used: workers run as processes of this machine, without isolation';
  return { runtime: await pretend(runtime), notices: [isolation, simulated] };
}

/** A runtime whose GPUs are simulated can be made to pretend that they run short; every process hears of it. */
async function withShortage(
  inner: Runtime,
  inventory: Map<string, number>,
  gpus: readonly SimulatedGpus[],
  { pool, bus, logger }: { pool: Pool; bus: Bus; logger: Logger },
): Promise<Runtime> {
  await ensureSimulation(pool, gpus);
  const runtime = new ShortageRuntime({ inner, inventory, simulation: await getSimulation(pool) });
  const look = async () => {
    const simulation = await findSimulation(pool);
    if (simulation) runtime.pretend(simulation);
  };
  bus.subscribe('simulation', () => {
    look().catch((error) => logger.warn({ err: error }, 'what is simulated could not be read'));
  });
  return runtime;
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

function createFront(
  config: Config,
  buildRest: typeof buildRestApp,
  parts: {
    pool: Pool;
    bus: Bus;
    keyRing: KeyRing;
    rateLimiter: RateLimiter;
    clock: Clock;
    logger: Logger;
    secretBox: SecretBox;
    capacity: CapacitySource;
    podFigures: PodFigures;
    metrics: Metrics;
    metricsPage: MetricsPage;
    data: DataPlane;
    runtime: Runtime;
    tls: SecureContextOptions | null;
    cleanUp: CleanUpStack;
  },
): Front {
  const { data, runtime: _runtime, tls, cleanUp, ...deps } = parts;
  const http = createServer({
    keepAliveTimeout: 75_000,
    requestTimeout: 0,
    shouldUpgradeCallback: (req) => dispatch(req.headers.host ?? '', req.url!) !== null, // the others change no protocol
  });
  const publicUrlFor = (request: IncomingMessage): string =>
    config.publicUrl ?? localUrl(config, front.server, request);
  const rest = buildRest({ ...deps, publicUrlFor, lbHost: config.lbHost });
  const graphql = new LazyGraphqlApp({ ...deps, isIntrospectable: config.isGraphqlIntrospectable });
  cleanUp.add(async () => {
    await rest.close(); // ends the open log streams
    await graphql.close();
    await front.close();
  });
  // Its schemas are compiled once the listener stands: a request that comes earlier waits for them.
  let restReady: PromiseLike<unknown> | undefined;
  const prepareRest = () => (restReady ??= rest.ready());
  http.once('listening', () => setImmediate(prepareRest));
  http.on('clientError', refuseUnreadable);
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    if (isQueuePath(req.url!)) data.handle(req, res);
    else if (isGraphqlPath(req.url!)) graphql.handle(req, res);
    else void prepareRest().then(() => rest.routing(req, res));
  };
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  const dispatch = createDispatch(config, parts);
  const proxied = (req: IncomingMessage, res: ServerResponse): boolean => {
    const handler = dispatch(req.headers.host ?? '', req.url!);
    if (handler) answerOnSharedConnection(req, res, trustedProxies, handler);
    return handler !== null;
  };
  http.on('request', (req, res) => {
    if (!proxied(req, res)) answer(req, res);
  });
  http.on('checkContinue', (req, res) => {
    if (proxied(req, res)) return; // whether to go on is for the other side to say
    res.writeContinue();
    answer(req, res);
  });
  http.on('upgrade', (req, socket, head) => front.takeBack(req, socket as Socket, head));
  const front = new Front({ tls, http, dispatch: ({ host, target }) => dispatch(host, target), trustedProxies });
  return front;
}

/** Pods and load-balancing endpoints: by name, or by path. */
function createDispatch(
  config: Config,
  parts: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    metrics: Metrics;
    data: DataPlane;
    runtime: Runtime;
    cleanUp: CleanUpStack;
  },
): (host: string, target: string) => ExchangeHandler | null {
  const { pool, bus, clock, logger, metrics, data, runtime, cleanUp } = parts;
  const { answerMs, bodyBytes } = config.podProxy;
  const pods = new PodProxy({
    bus,
    clock,
    logger,
    metrics,
    settings: { answerTimeoutMs: answerMs, maxBodyBytes: bodyBytes },
    findRoute: (podId) => findPodRoute(pool, podId),
    reach: (podId, port) => runtime.reach(podId, port),
  });
  cleanUp.add(async () => pods.stop());
  const addresseeOf = addresseeReader({
    proxyHost: plainName(config.proxyHost ?? DEFAULT_PROXY_HOST),
    lbHost: plainName(config.lbHost ?? DEFAULT_PROXY_HOST),
    apiHost: config.publicUrl === null ? null : new URL(config.publicUrl).hostname,
  });
  const routes: ProxyRoutes = {
    pod: (exchange, podId, port) => void pods.handle(exchange, podId, port),
    endpoint: (exchange, endpointId, target) => void data.loadBalancer.handle(exchange, endpointId, target),
  };
  return (host, target) => findHandler(addresseeOf(host), target, isQueuePath, routes);
}

/** A certificate that is renewed is used without a restart. */
function serveNewCertificates(config: Config, logger: Logger, front: Front, cleanUp: CleanUpStack): void {
  if (config.tls === null) return;
  const stop = watchCertificate(
    config.tls,
    (certificate) => {
      front.useCertificate(certificate);
      logger.info({ file: config.tls!.certFile }, 'a new certificate is used');
    },
    (error) => logger.warn({ err: error }, 'the new certificate cannot be used; the old one stays'),
  );
  cleanUp.add(async () => stop());
}

/** What node's parser refuses never becomes a request: too large headers, broken framing. It gets a problem record too. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const [status, title] = isTooLarge ? [431, 'Request Header Fields Too Large'] : [400, 'Bad Request'];
  const detail = isTooLarge ? 'The request headers are larger than 16 KiB.' : 'The request is not valid HTTP.';
  const body = JSON.stringify({ title, status, detail });
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${PROBLEM_JSON}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${newRequestId()}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** On a wildcard address only the client knows under which name it reached us. */
function localUrl(config: Config, server: NetServer, request: IncomingMessage): string {
  const isWildcard = config.host === '0.0.0.0' || config.host === '::';
  const host = isWildcard ? request.headers.host : undefined;
  const protocol = config.tls === null ? 'http' : 'https';
  if (host && /^[\w.:[\]-]+$/.test(host)) return `${protocol}://${host}`;
  return `${protocol}://${hostInUrl(config.host)}:${(server.address() as AddressInfo).port}`;
}

function startControl(
  config: Config,
  parts: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    metrics: Metrics;
    tracing: Tracing | null;
    secretBox: SecretBox;
    installation: Installation;
    runtime: Runtime;
    data: DataPlane;
    workerApiUrl: string;
    databaseUrl: string;
  },
): { started: Promise<void>; stop: () => Promise<void> } {
  if (!config.roles.has('control')) return { started: Promise.resolve(), stop: async () => {} };
  const {
    pool,
    bus,
    clock,
    logger,
    metrics,
    tracing,
    secretBox,
    installation,
    runtime,
    data,
    workerApiUrl,
    databaseUrl,
  } = parts;
  const { queue, dispatch } = data;
  const tell = {
    queued: (endpointId: EndpointId) => dispatch.tellQueued(endpointId, RESCUED_AT_ONCE),
    ended: dispatch.tellEnded.bind(dispatch),
    jobStop: dispatch.tellJobStop.bind(dispatch),
  };
  const { graceMs, leaseMs } = config.limits;
  const logs = new LogCollector({ pool, bus, runtime, logger });
  const directories = new StorageDirectories(join(config.dataDir, 'storage', installation.id));
  const quotas = new StorageQuotas({ root: directories.root, logger });
  const mounts = new WorkloadMounts({ pool, runtime, directories, quotas });
  const capacity = new CapacityLedger({ pool, runtime });
  const runner = new WorkerRunner({
    pool,
    bus,
    clock,
    logger,
    runtime,
    logs,
    capacity,
    queue,
    tell,
    secretBox,
    mounts,
    apiUrl: workerApiUrl,
    graceMs,
    drainMs: config.loadBalancing.drainMs,
  });
  const { publishIp } = config;
  const pods = new PodRunner({ pool, bus, clock, logger, runtime, logs, mounts, secretBox, publishIp, graceMs });
  const memory = createFrozenMemory(config, runtime);
  const onChange = () => {
    capacity.forget();
    bus.publish('worker', ''); // whoever waits for a place looks again
  };
  const loops = [
    logs,
    runner,
    pods,
    new WorkerProber({ pool, bus, runtime, logs, metrics, logger }),
    new WorkerFreezer({ pool, bus, clock, logger, metrics, runtime, logs, memory }),
    new EndpointScaler({ pool, bus, clock, logger, frozenBudget: memory.budgetBytes }),
    new JobRescuer({ pool, bus, clock, logger, queue, tell, leaseMs }),
    new WebhookDeliverer({ pool, bus, logger, queue, tracing, allowPrivate: config.allowPrivateWebhooks }),
    new UsageMeter({ pool, logger }),
    new Cleaner({ pool, clock, logger, limits: config.limits }),
    new ImagePuller({ pool, bus, logger, runtime, secretBox }),
    new VolumeKeeper({ pool, bus, logger, logs, directories }),
    ...(runtime instanceof ShortageRuntime ? [new IncidentRunner({ pool, bus, logger, runtime, onChange })] : []),
  ];
  const stopLoops = async () => {
    for (const loop of [...loops].reverse()) await loop.stop();
  };
  const leadership = new Leadership({
    databaseUrl,
    logger,
    onLead: () => {
      for (const loop of loops) loop.start();
    },
    onStepDown: stopLoops,
  });
  return {
    started: leadership.start(),
    stop: async () => {
      await leadership.stop();
      if (config.stopWorkersOnExit) await Promise.all([runner.stopAll(), pods.stopAll()]);
    },
  };
}

/** The budget is a share of what the runtime's machine has, which does not change. */
function createFrozenMemory({ frozenMemory }: Config, runtime: Runtime): FrozenMemory {
  let budget: Promise<number> | undefined;
  const readBudget = async () => {
    if (!runtime.capabilities.freeze) return 0;
    return 'bytes' in frozenMemory ? frozenMemory.bytes : frozenMemory.share * (await runtime.capacity()).memoryBytes;
  };
  return {
    budgetBytes: () => {
      budget ??= readBudget().catch((error) => {
        budget = undefined;
        throw error;
      });
      return budget;
    },
    availableBytes: freemem,
  };
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function listen(server: NetServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4096 }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Stops accepting and waits a moment for what is under way; then connections are cut. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // A busy client keeps its connection: each answer from here on tells it to open another, which somebody else accepts.
    server.prependListener('request', (_req, res) => {
      res.shouldKeepAlive = false;
    });
    const timer = setTimeout(() => server.closeAllConnections(), 3_000);
    const idle = setInterval(() => server.closeIdleConnections(), 20); // connections whose last answer has just left
    server.close(() => {
      clearTimeout(timer);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}
