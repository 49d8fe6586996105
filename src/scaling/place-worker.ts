import { type CudaRule, describeCuda, fitsCuda } from './cuda-version.ts';

/** One GPU type of one pool in one data centre, with what is free. */
export interface PoolCapacity {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  free: number;
  /** The CUDA version that the driver supports. Absent: unknown. */
  cudaVersion?: string;
}

/** A GPU type of a pool in a data center. Without a known type, any. */
export interface GpuPlace {
  pool: string | null;
  gpuTypeId?: string | null;
  dataCenterId: string | null;
}

/** True where GPUs are alike. */
export function isSamePlace(a: GpuPlace, b: GpuPlace): boolean {
  if (a.pool !== b.pool || a.dataCenterId !== b.dataCenterId) return false;
  return (a.gpuTypeId ?? b.gpuTypeId) === (b.gpuTypeId ?? a.gpuTypeId);
}

/** The GPUs a worker needs. */
export interface PlaceRequest {
  /** In the order of preference. */
  pools: readonly string[];
  /** GPUs, together in one place. */
  count: number;
  /** In the order of preference; empty for any. */
  dataCenterIds: readonly string[];
  /** GPU types that it must not get, although their pool is listed. */
  excludedTypes?: readonly string[];
  cuda?: CudaRule;
}

export type Placement =
  | {
      isPlaced: true;
      pool: string;
      gpuTypeId: string;
      dataCenterId: string;
      /** Set where the request has a rule for it: it must run with this version. */
      cudaVersion?: string;
    }
  | { isPlaced: false; reason: string };

/** Picks the first listed pool with enough free GPUs in a preferred data center, or says what is missing. */
export function placeWorker(wanted: PlaceRequest, capacities: readonly PoolCapacity[]): Placement {
  for (const pool of wanted.pools) {
    const candidates = placesFor(wanted, capacities).filter((one) => one.pool === pool && one.free >= wanted.count);
    const [best] = candidates.sort((a, b) => preference(wanted, a) - preference(wanted, b));
    if (best) return placeAt(best, wanted);
  }
  return { isPlaced: false, reason: missing(wanted, capacities) };
}

function placeAt({ pool, gpuTypeId, dataCenterId, cudaVersion }: PoolCapacity, { cuda }: PlaceRequest): Placement {
  const pinned = cuda !== undefined && cudaVersion !== undefined ? { cudaVersion } : {};
  return { isPlaced: true, pool, gpuTypeId, dataCenterId, ...pinned };
}

/** Returns the places where a worker could run if everything were free. */
export function placesFor(wanted: PlaceRequest, capacities: readonly PoolCapacity[]): PoolCapacity[] {
  return placesOfPools(wanted, capacities).filter((one) => !isExcluded(wanted, one) && hasCuda(wanted, one));
}

/** The same, whatever their types and drivers. */
function placesOfPools(wanted: PlaceRequest, capacities: readonly PoolCapacity[]): PoolCapacity[] {
  return capacities.filter(
    ({ pool, dataCenterId }) =>
      wanted.pools.includes(pool) && (wanted.dataCenterIds.length === 0 || wanted.dataCenterIds.includes(dataCenterId)),
  );
}

function isExcluded({ excludedTypes = [] }: PlaceRequest, { gpuTypeId }: PoolCapacity): boolean {
  return excludedTypes.includes(gpuTypeId);
}

function hasCuda({ cuda }: PlaceRequest, { cudaVersion }: PoolCapacity): boolean {
  return cuda === undefined || fitsCuda(cudaVersion, cuda);
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
  const places = placesOfPools(wanted, capacities);
  const known = wanted.pools.map((pool) => {
    const all = places.filter((capacity) => capacity.pool === pool);
    const own = placesFor(wanted, all);
    if (own.length === 0) return unfit(pool, wanted, all);
    const free = own.reduce((sum, capacity) => sum + capacity.free, 0);
    const total = own.reduce((sum, capacity) => sum + capacity.total, 0);
    return `${pool} has ${free} of ${total} free`;
  });
  return `no capacity: it needs ${wanted.count} GPU${wanted.count === 1 ? '' : 's'} together${where}; ${known.join(', ')}`;
}

/** Why none of a pool's GPUs will ever do. */
function unfit(pool: string, wanted: PlaceRequest, all: readonly PoolCapacity[]): string {
  if (all.every(({ total }) => total === 0)) return `${pool} has no GPU here`;
  const allowed = all.filter((one) => !isExcluded(wanted, one));
  if (allowed.length === 0) return `${pool} has only ${listOf(all, 'gpuTypeId')} here, which the endpoint excludes`;
  return `no GPU of ${pool} here has ${describeCuda(wanted.cuda!)}, the driver supports ${listOf(allowed, 'cudaVersion')}`;
}

function listOf(places: readonly PoolCapacity[], field: 'gpuTypeId' | 'cudaVersion'): string {
  return [...new Set(places.map((one) => one[field]))].join(' and ');
}
