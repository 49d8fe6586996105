import type { Server } from 'node:http';
import { type AddressInfo, createServer, type Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Data processes of a server that was killed let go of their ports at once, but not before they notice. */
const ORPHANS_LEAVE_MS = 3_000;
const TRY_AGAIN_MS = 50;

/** An IPv6 address needs brackets in a URL. */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Resolves with the port once it accepts; rejects when it cannot have it. `isShared`: with other processes that ask for
 * it likewise; the kernel gives each connection to one of them.
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

/** Elsewhere the system knows no ports that several processes listen on and that it deals out evenly. */
const SHARING_PLATFORMS: ReadonlySet<NodeJS.Platform> = new Set(['linux', 'freebsd']);

/**
 * A port that several processes of this server are going to share: `port`, or with 0 any free one. Rejects when somebody
 * has it, also if they would share it: another server's processes.
 */
export async function reservePort(port: number, host: string): Promise<number> {
  if (!SHARING_PLATFORMS.has(process.platform)) {
    throw new Error(`--data-processes needs Linux or FreeBSD: on ${process.platform} processes cannot share a port`);
  }
  const deadline = Date.now() + ORPHANS_LEAVE_MS;
  for (;;) {
    const server = createServer();
    try {
      return await listen(server, port, host);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || Date.now() > deadline) throw error;
      await sleep(TRY_AGAIN_MS);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

/** Says in words that somebody has the port, which only the operator can change. */
export function rethrowPortInUse(error: unknown, { port, host }: { port: number; host: string }): never {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
  const what = `port ${port} of ${host} is in use by another program`;
  throw new Error(`${what}: choose another one with --port, or any free one with --port 0`);
}

/** Stops accepting and waits a moment for what is under way; then connections are cut. */
export function close(server: Server): Promise<void> {
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
