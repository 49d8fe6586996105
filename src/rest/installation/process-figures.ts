import { readdir } from 'node:fs/promises';
import type { Pool } from '../../db/pool.ts';

/** Resource usage of a process: plain values that can be sent to another process. */
export interface ProcessFigures {
  cpuSeconds: number;
  residentBytes: number;
  /** Since the Unix epoch. */
  startedAtSeconds: number;
  /** Null where the system doesn't report it. */
  openFiles: number | null;
  heapUsedBytes: number;
  heapTotalBytes: number;
  externalBytes: number;
  /** Database connections, by pool name. */
  pools: Readonly<Record<string, { busy: number; idle: number; max: number; waiting: number }>>;
}

export async function readProcessFigures(pools: Readonly<Record<string, Pool>>): Promise<ProcessFigures> {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const files = await readdir('/proc/self/fd').catch(() => null); // Linux only
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: rss,
    startedAtSeconds: performance.timeOrigin / 1000,
    openFiles: files === null ? null : files.length,
    heapUsedBytes: heapUsed,
    heapTotalBytes: heapTotal,
    externalBytes: external,
    pools: Object.fromEntries(
      Object.entries(pools).map(([name, { totalCount, idleCount, waitingCount, options }]) => [
        name,
        { busy: totalCount - idleCount, idle: idleCount, max: options.max ?? 0, waiting: waitingCount },
      ]),
    ),
  };
}
