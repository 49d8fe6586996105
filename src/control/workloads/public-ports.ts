import { createServer } from 'node:net';

/** Below the ephemeral ports of common systems, above the ports Podyard's own worker API may have. */
const FIRST_PORT = 30_000;
const PORTS = 2_768;
const TRIES = 50;

/**
 * Returns a free port of this machine for each private port. They are chosen before the container is created, because its
 * environment names them; if another process takes one meanwhile, the start fails. Throws when no port is free.
 */
export async function choosePublicPorts(ip: string, ports: readonly number[]): Promise<Map<number, number>> {
  const chosen = new Map<number, number>();
  for (const port of ports) chosen.set(port, await choosePort(ip, new Set(chosen.values())));
  return chosen;
}

async function choosePort(ip: string, taken: ReadonlySet<number>): Promise<number> {
  for (let i = 0; i < TRIES; i++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (!taken.has(port) && (await isFree(ip, port))) return port;
  }
  throw new Error('this machine has no free port left for a TCP port of the pod');
}

function isFree(ip: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: ip, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
