import { messageOf } from '../../core/errors.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { choosePublicPorts } from './public-ports.ts';

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
