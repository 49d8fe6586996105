import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { Db } from '../../db/pool.ts';
import { listGpusInUse } from '../workers/worker-lifecycle.ts';

/** GPUs of one type on one node. */
export interface GpuStock {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  free: number;
  /** Absent: unknown, and then it suits every wish. */
  cudaVersion?: string;
}

/** What a runtime has, and how much of it is free. */
export interface Stock {
  gpus: readonly GpuStock[];
  cpus: number;
  memoryBytes: number;
}

/** What can be had here and now. Throws `unavailable` when the runtime does not answer. */
export interface CapacitySource {
  read(): Promise<Stock>;
}

const TTL_MS = 2_000;

/**
 * The runtime's capacity without what live workers and pods were given: those that still pull their image are not seen by the
 * runtime. What frozen workers keep can be had: they leave for whoever would work. Asked at most once in two seconds, however many clients ask.
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
      if (last && now - last.at < TTL_MS) return last.stock;
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
  return withoutUsed(stock, used);
}

/** The stock with what is left of each entry once `used` is taken off its total. */
export function withoutUsed(
  stock: Stock,
  used: readonly { pool: string; dataCenterId: string; count: number }[],
): Stock {
  const left = new Map(used.map(({ pool: name, dataCenterId, count }) => [`${dataCenterId}/${name}`, count]));
  const gpus = stock.gpus.map((entry) => {
    const place = `${entry.dataCenterId}/${entry.pool}`;
    const taken = Math.min(entry.total, left.get(place) ?? 0);
    left.set(place, (left.get(place) ?? 0) - taken); // a second entry of the same pool carries what is left
    return { ...entry, free: entry.total - taken };
  });
  return { ...stock, gpus };
}
