import { readdir } from 'node:fs/promises';
import type { Pool } from '../../db/pool.ts';

/** How a process is at this moment: plain values, which can be told to another one. */
export interface ProcessFigures {
  cpuSeconds: number;
  residentBytes: number;
  /** Since 1970. */
  startedAtSeconds: number;
  /** Null where the system does not tell. */
  openFiles: number | null;
  heapUsedBytes: number;
  heapTotalBytes: number;
  externalBytes: number;
  /** Its connections to the database, by the pool's name. */
  pools: Readonly<Record<string, { busy: number; idle: number; max: number; waiting: number }>>;
}

export async function readProcessFigures(pools: Readonly<Record<string, Pool>>): Promise<ProcessFigures> {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const files = await readdir('/proc/self/fd').catch(() => null); // there is such a thing on Linux only
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
