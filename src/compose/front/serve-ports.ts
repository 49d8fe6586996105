import type { Config } from '../../config/config.ts';
import { readCertificate } from '../../dataplane/wire/certificate.ts';
import { createCapacitySource } from '../../domain/catalog/capacity-source.ts';
import { createPodFigures } from '../../domain/pods/pod-figures.ts';
import { MetricsPage } from '../../rest/installation/metrics-page.ts';
import type * as restApps from '../../rest/rest-apps.ts';
import type { WorkloadStorage } from '../../runtimes/runtime.ts';
import { createRateLimiter } from '../open-database.ts';
import type { ServerParts, Serving } from '../serving.ts';
import { createFront, serveNewCertificates } from './create-front.ts';
import { listen, rethrowPortInUse } from './listen.ts';
import { findWorkerApi, listenForWorkers } from './worker-listener.ts';

/**
 * Prepares this process to serve what its roles say. `readSharedPage`: `/metrics` of all processes that share the ports;
 * null when the ports are this process's own.
 */
export async function servePorts(
  config: Config,
  rest: typeof restApps,
  parts: ServerParts & { storage: WorkloadStorage },
  readSharedPage: (() => Promise<string>) | null,
): Promise<Serving> {
  const { data, runtime, cleanUp } = parts;
  const isShared = readSharedPage !== null;
  const workerApiUrl = await openWorkerApi(config, parts, isShared);
  if (config.roles.has('data')) data.start();
  const tls = config.tls === null ? null : await readCertificate(config.tls);
  const apiParts = {
    ...parts,
    rateLimiter: createRateLimiter(config, parts),
    capacity: createCapacitySource({ pool: parts.pool, clock: parts.clock, readRuntime: () => runtime.capacity() }),
    podFigures: createPodFigures({ clock: parts.clock, readUsage: (podId) => runtime.stats(podId) }),
    metricsPage: createMetricsPage(config, parts, readSharedPage),
  };
  const front = createFront(config, rest, apiParts, tls);
  serveNewCertificates(config, parts.logger, front, cleanUp);
  return {
    workerApiUrl,
    begin: () =>
      listen(front.server, config.port, config.host, isShared).catch((error) => rethrowPortInUse(error, config)),
    stopAccepting: () => {
      front.server.close();
      data.workerServer.server.close();
    },
    drain: () => front.drain(),
    whenNothingHeld: () => data.dispatch.waiters.whenEmpty(),
    end: () => data.stop(),
  };
}

/** The URL of the worker API; empty for a process that serves only the API and starts no workers. */
async function openWorkerApi(config: Config, parts: ServerParts, isShared: boolean): Promise<string> {
  if (config.roles.has('data'))
    return listenForWorkers(config, { ...parts, server: parts.data.workerServer }, isShared);
  return config.roles.has('control') ? findWorkerApi(config, parts) : '';
}

function createMetricsPage(
  config: Config,
  { metrics, pool, queuePool }: ServerParts,
  readSharedPage: (() => Promise<string>) | null,
): Pick<MetricsPage, 'isToken' | 'read'> {
  const pools = { main: pool, queue: queuePool };
  const page = new MetricsPage({ metrics, pool, pools, token: config.metrics.token });
  return readSharedPage === null ? page : { isToken: (header) => page.isToken(header), read: readSharedPage };
}
