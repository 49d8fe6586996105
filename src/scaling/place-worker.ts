/** One pool in one data centre, with what is free. */
export interface PoolCapacity {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  free: number;
}

/** The GPUs a worker needs. */
export interface PlaceRequest {
  /** In the order of preference. */
  pools: readonly string[];
  /** GPUs, together in one place. */
  count: number;
  /** In the order of preference; empty for any. */
  dataCenterIds: readonly string[];
}

export type Placement =
  | { isPlaced: true; pool: string; gpuTypeId: string; dataCenterId: string }
  | { isPlaced: false; reason: string };

/** Picks the first listed pool with enough free GPUs in a preferred data center, or says what is missing. */
export function placeWorker(wanted: PlaceRequest, capacities: readonly PoolCapacity[]): Placement {
  for (const pool of wanted.pools) {
    const candidates = placesFor(wanted, capacities).filter((one) => one.pool === pool && one.free >= wanted.count);
    const [best] = candidates.sort((a, b) => preference(wanted, a) - preference(wanted, b));
    if (best) return { isPlaced: true, pool, gpuTypeId: best.gpuTypeId, dataCenterId: best.dataCenterId };
  }
  return { isPlaced: false, reason: missing(wanted, capacities) };
}

/** Returns the places where a worker could run if everything were free. */
export function placesFor(wanted: PlaceRequest, capacities: readonly PoolCapacity[]): PoolCapacity[] {
  return capacities.filter(
    ({ pool, dataCenterId }) =>
      wanted.pools.includes(pool) && (wanted.dataCenterIds.length === 0 || wanted.dataCenterIds.includes(dataCenterId)),
  );
}

/**
 * Returns the data centers a worker may run in: the endpoint's and, with network volumes, only those of a volume. Empty: any.
 * Null: none satisfies both. An installation with a single known data center has no choice, so there it is always any.
 */
export function dataCentersFor(
  preferred: readonly string[],
  ofVolumes: readonly string[],
  known: ReadonlySet<string>,
): string[] | null {
  if (known.size <= 1) return [];
  if (ofVolumes.length === 0) return [...preferred];
  const allowed = preferred.length === 0 ? [...new Set(ofVolumes)] : preferred.filter((id) => ofVolumes.includes(id));
  return allowed.length === 0 ? null : allowed;
}

function preference(wanted: PlaceRequest, capacity: PoolCapacity): number {
  const at = wanted.dataCenterIds.indexOf(capacity.dataCenterId);
  return at < 0 ? wanted.dataCenterIds.length : at;
}

function missing(wanted: PlaceRequest, capacities: readonly PoolCapacity[]): string {
  const where = wanted.dataCenterIds.length === 0 ? '' : ` in ${wanted.dataCenterIds.join(', ')}`;
  const places = placesFor(wanted, capacities);
  const known = wanted.pools.map((pool) => {
    const own = places.filter((capacity) => capacity.pool === pool);
    if (own.length === 0) return `${pool} has no GPU here`;
    const free = own.reduce((sum, capacity) => sum + capacity.free, 0);
    const total = own.reduce((sum, capacity) => sum + capacity.total, 0);
    return `${pool} has ${free} of ${total} free`;
  });
  return `no capacity: it needs ${wanted.count} GPU${wanted.count === 1 ? '' : 's'} together${where}; ${known.join(', ')}`;
}
