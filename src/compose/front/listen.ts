import { type AddressInfo, createServer, type Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicClock } from '../../core/clock.ts';

/** How long orphaned data processes of a killed server may take to release their ports. */
const ORPHANS_EXIT_MS = 3_000;
const RETRY_MS = 50;

/** A listen address as the host of a URL: loopback for a wildcard, brackets around IPv6. */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Resolves with the port once the server accepts connections. `isShared`: other processes listen on it too, and the
 * kernel gives each connection to one of them (SO_REUSEPORT).
 */
export function listen(server: NetServer, port: number, host: string, isShared = false): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4096, reusePort: isShared }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Only here does SO_REUSEPORT spread connections evenly over the listening processes. */
const SHARING_PLATFORMS: ReadonlySet<NodeJS.Platform> = new Set(['linux', 'freebsd']);

/**
 * Resolves with a port for several processes to share: `port`, or any free one for 0. Rejects when it is taken, even by
 * a listener that shares it, such as another server's processes.
 */
export async function reservePort(port: number, host: string): Promise<number> {
  if (!SHARING_PLATFORMS.has(process.platform)) {
    throw new Error(`--data-processes needs Linux or FreeBSD: on ${process.platform} processes cannot share a port`);
  }
  const deadline = monotonicClock.now() + ORPHANS_EXIT_MS;
  for (;;) {
    const server = createServer();
    try {
      return await listen(server, port, host);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || monotonicClock.now() > deadline) throw error;
      await sleep(RETRY_MS);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

/** Rethrows with advice for the operator when the port is in use. */
export function rethrowPortInUse(error: unknown, { port, host }: { port: number; host: string }): never {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
  const what = `port ${port} on ${host} is in use by another program`;
  throw new Error(`${what}: choose another with --port, or any free one with --port 0`, { cause: error });
}
