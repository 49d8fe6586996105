import type { Server } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';

/** An IPv6 address needs brackets in a URL. */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** Resolves with the port once it accepts; rejects when it cannot have it. */
export function listen(server: NetServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4096 }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
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
