/** One pool in one data centre, with what is free. */
export interface PoolCapacity {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  free: number;
}

export type Placement =
  | { isPlaced: true; pool: string; gpuTypeId: string; dataCenterId: string }
  | { isPlaced: false; reason: string };

/** The first listed pool with room, in a preferred data centre (any when none is preferred). Says what is missing otherwise. */
export function placeWorker(
  wanted: { pools: readonly string[]; count: number; dataCenterIds: readonly string[] },
  capacities: readonly PoolCapacity[],
): Placement {
  for (const pool of wanted.pools) {
    const candidates = capacities.filter(
      (capacity) =>
        capacity.pool === pool &&
        capacity.free >= wanted.count &&
        (wanted.dataCenterIds.length === 0 || wanted.dataCenterIds.includes(capacity.dataCenterId)),
    );
    const [best] = candidates.sort((a, b) => preference(wanted, a) - preference(wanted, b));
    if (best) return { isPlaced: true, pool, gpuTypeId: best.gpuTypeId, dataCenterId: best.dataCenterId };
  }
  return { isPlaced: false, reason: missing(wanted, capacities) };
}

function preference(wanted: { dataCenterIds: readonly string[] }, capacity: PoolCapacity): number {
  const at = wanted.dataCenterIds.indexOf(capacity.dataCenterId);
  return at < 0 ? wanted.dataCenterIds.length : at;
}

function missing(
  wanted: { pools: readonly string[]; count: number; dataCenterIds: readonly string[] },
  capacities: readonly PoolCapacity[],
): string {
  const where = wanted.dataCenterIds.length === 0 ? '' : ` in ${wanted.dataCenterIds.join(', ')}`;
  const known = wanted.pools.map((pool) => {
    const own = capacities.filter((capacity) => capacity.pool === pool);
    if (own.length === 0) return `${pool} has no GPU here`;
    const free = own.reduce((sum, capacity) => sum + capacity.free, 0);
    const total = own.reduce((sum, capacity) => sum + capacity.total, 0);
    return `${pool} has ${free} of ${total} free`;
  });
  return `no capacity: it needs ${wanted.count} GPU${wanted.count === 1 ? '' : 's'} together${where}; ${known.join(', ')}`;
}
