import { createServer } from 'node:net';
import { messageOf } from '../../core/errors.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

/** An engine's message when another process took the port first. */
const PORT_TAKEN = /already allocated|address already in use/i;
const PORT_TRIES = 3;

/**
 * Starts a workload with a public port for each of its TCP ports (private → public); with others when another process took
 * one first. `publishIp`: the address on which they are published.
 */
export async function startOnPorts<T>(
  { runtime, publishIp }: { runtime: Pick<Runtime, 'capabilities'>; publishIp: string | null },
  ports: readonly string[],
  start: (tcpPorts: ReadonlyMap<number, number>) => Promise<T>,
): Promise<T> {
  const tcp = ports.filter((port) => port.endsWith('/tcp')).map((port) => Number.parseInt(port, 10));
  for (let left = PORT_TRIES; ; left--) {
    // Without a network of its own, a container's ports are this machine's.
    const tcpPorts = runtime.capabilities.isolation
      ? await choosePublicPorts(publishIp ?? '127.0.0.1', tcp)
      : new Map(tcp.map((port) => [port, port]));
    try {
      return await start(tcpPorts);
    } catch (error) {
      if (left === 1 || tcp.length === 0 || !PORT_TAKEN.test(messageOf(error))) throw error;
    }
  }
}

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
