import { readFileSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import type { Logger } from '../../core/logger.ts';

const MAX_RESERVE = 1_024;
const RESERVE_SHARE = 1 / 4;
const REPORT_MS = 60_000;

/**
 * Keeps a quarter of the process's descriptors, 1,024 at most, for what it does itself: database connections, files,
 * connections to workers. A listener refuses connections while no others are left. The number of an accepted socket shows
 * how many are in use: the kernel gives the lowest free one.
 */
export function keepDescriptorReserve(server: Server, logger: Logger, limit = readDescriptorLimit()): void {
  const usable = limit - Math.min(MAX_RESERVE, Math.floor(limit * RESERVE_SHARE));
  let connections = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  server.prependListener('connection', (socket: Socket) => {
    connections += 1;
    socket.once('close', () => {
      connections -= 1;
      server.maxConnections = Number.POSITIVE_INFINITY;
    });
    if (descriptorOf(socket) >= usable) server.maxConnections = connections;
  });
  server.on('drop', () => {
    const now = performance.now();
    if (now - reportedAt < REPORT_MS) return;
    reportedAt = now;
    logger.warn({ connections, limit }, 'refusing connections: few file descriptors are left');
  });
}

/** Infinity where the system has no such limit. */
function readDescriptorLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** -1 where a socket has none (Windows). */
function descriptorOf(socket: Socket): number {
  return (socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
}
