import type { Config } from '../../config/config.ts';
import type { Logger } from '../../core/logger.ts';
import type { WireServer } from '../../dataplane/wire/wire-server.ts';
import type { Pool } from '../../db/pool.ts';
import { type Installation, saveWorkerApiPort } from '../../domain/installation.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { keepDescriptorReserve } from '../process/descriptor-reserve.ts';
import type { CleanUpStack } from '../serving.ts';
import { hostInUrl, listen, reservePort } from './listen.ts';

/**
 * Makes the worker API listen where workloads can reach it, and nowhere else; resolves with the URL that workers get. Its
 * port stays the same across restarts, because running workers know no other. If another program took it, a new port is
 * used and running workers are replaced.
 */
export async function listenForWorkers(
  config: Config,
  parts: {
    pool: Pool;
    installation: Installation;
    runtime: Runtime;
    server: WireServer;
    logger: Logger;
    cleanUp: CleanUpStack;
  },
  isShared: boolean,
): Promise<string> {
  const { installation, server, cleanUp } = parts;
  keepDescriptorReserve(server.server, parts.logger);
  const { bind, host } = await parts.runtime.workerApiAddress();
  const port = isShared
    ? await listen(server.server, installation.workerApiPort, bind, true) // reserved by the first process
    : await takePort(config, parts, (wanted) => listen(server.server, wanted, bind));
  cleanUp.add(() => server.close());
  return `http://${hostInUrl(host)}:${port}`;
}

/** Reserves a port for all data processes to listen on; resolves with the URL that workers get. */
export async function reserveWorkerApi(
  config: Config,
  parts: { pool: Pool; installation: Installation; runtime: Runtime },
): Promise<string> {
  const { bind, host } = await parts.runtime.workerApiAddress();
  const port = await takePort(config, parts, (wanted) => reservePort(wanted, bind));
  return `http://${hostInUrl(host)}:${port}`;
}

/** The worker API's URL for a process without the role `data`: as configured, or as a data process saved it. */
export async function findWorkerApi(
  config: Config,
  { installation, runtime }: { installation: Installation; runtime: Runtime },
): Promise<string> {
  const { host } = await runtime.workerApiAddress();
  return `http://${hostInUrl(host)}:${config.workerApiPort || installation.workerApiPort}`;
}

async function takePort(
  config: Config,
  { pool, installation }: { pool: Pool; installation: Installation },
  take: (wanted: number) => Promise<number>,
): Promise<number> {
  const wanted = config.workerApiPort ?? installation.workerApiPort;
  const port = await take(wanted).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRNOTAVAIL') throw bridgeOutOfReach(error);
    if (error.code !== 'EADDRINUSE' || config.workerApiPort) throw error;
    return take(0);
  });
  if (port !== installation.workerApiPort) await saveWorkerApiPort(pool, port);
  return port;
}

/** As where the engine runs in a virtual machine, or in a network namespace of its own. */
function bridgeOutOfReach(cause: NodeJS.ErrnoException & { address?: string }): Error {
  const where = cause.address ? ` (${cause.address})` : '';
  const text = `this machine has no address${where} on the network of the containers: Podyard must run where the container engine's bridge is, because it reaches workers and HTTP ports of pods over it, and publishes none of them. Docker Desktop and rootless engines keep the bridge apart: run Podyard on a machine with an engine of its own, or use --runtime process`;
  return new Error(text, { cause });
}
