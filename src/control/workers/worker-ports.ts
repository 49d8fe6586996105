import { type AddressInfo, createServer } from 'node:net';
import { Failure } from '../../core/errors.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

const DEFAULT_PORT = 80;

/** Where a load-balancing worker takes requests and answers health checks. */
export interface WorkerPorts {
  http: number;
  health: number;
}

/**
 * Returns `PORT` and `PORT_HEALTH` of the container's env. `PORT` defaults to 80, `PORT_HEALTH` to `PORT`
 * (docs/interface/worker-api.md, "Worker environment"). Workers that run as processes share one machine: each gets a free
 * port unless the user chose one. Throws `badRequest` for an invalid port.
 */
export async function workerPorts(env: Readonly<Record<string, string>>, runtime: Runtime): Promise<WorkerPorts> {
  const http = readPort(env, 'PORT') ?? (runtime.name === 'process' ? await findFreePort() : DEFAULT_PORT);
  return { http, health: readPort(env, 'PORT_HEALTH') ?? http };
}

function readPort(env: Readonly<Record<string, string>>, name: string): number | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new Failure('badRequest', `the variable ${name} is '${text.slice(0, 40)}', but must be a port from 1 to 65535`);
}

/** Returns a port that is free now. If another process takes it first, the worker fails to start and is replaced. */
function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
