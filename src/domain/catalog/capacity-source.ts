import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { Db } from '../../db/pool.ts';
import type { CpuPlace } from '../../scaling/cpu-slots.ts';
import { listGpusInUse } from '../workers/worker-lifecycle.ts';
import { nameFoundTypes } from './found-types.ts';
import { type GpusInUse, subtractInUse } from './gpus-in-use.ts';

/** GPUs of one type on one node. */
export interface GpuStock {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  free: number;
  /** Absent: unknown, which satisfies any minimum. */
  cudaVersion?: string;
  /** The machine that they are in, with all its GPUs. Absent: the one that `Stock` describes. */
  machine?: { cpus: number; memoryBytes: number; gpus: number };
}

/** A runtime's capacity, and how much of it is free. */
export interface Stock {
  gpus: readonly GpuStock[];
  cpus: number;
  memoryBytes: number;
  /** Absent: all of it is in the local data center. */
  places?: readonly CpuPlace[];
}

/** Reads the current stock. Throws `unavailable` if the runtime does not answer. */
export interface CapacitySource {
  read(): Promise<Stock>;
}

const TTL_MS = 2_000;

/**
 * Creates a source of the runtime's capacity minus what live workers and pods hold, because the runtime does not see those
 * that still pull their image. GPUs of frozen workers count as free: they are evicted when needed. Reads at most once in two
 * seconds, for all clients.
 */
export function createCapacitySource(options: {
  pool: Db;
  clock: Clock;
  readRuntime: () => Promise<Stock>;
}): CapacitySource {
  let last: { at: number; stock: Promise<Stock> } | undefined;
  return {
    read: () => {
      const now = options.clock.now();
      if (last && Math.abs(now - last.at) < TTL_MS) return last.stock;
      const stock = readStock(options.pool, options.readRuntime);
      last = { at: now, stock };
      stock.catch(() => {
        if (last?.stock === stock) last = undefined;
      });
      return stock;
    },
  };
}

async function readStock(pool: Db, readRuntime: () => Promise<Stock>): Promise<Stock> {
  const [stock, used] = await Promise.all([
    readRuntime().catch((cause) => {
      throw new Failure('unavailable', 'The runtime does not answer.', { cause });
    }),
    listGpusInUse(pool, { withFrozen: false }),
  ]);
  nameFoundTypes(stock.gpus);
  return withoutUsed(stock, used);
}

/** Returns the stock with `used` subtracted from the total of each entry. */
export function withoutUsed(stock: Stock, used: readonly GpusInUse[]): Stock {
  return { ...stock, gpus: subtractInUse(stock.gpus, used) };
}
