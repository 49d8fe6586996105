import { gpuTypesOfPool, LOCAL_DATA_CENTER } from '../domain/catalog/catalog.ts';
import { type GpuCapacity, NoCapacity, type WorkloadSpec, type WorkloadStats } from './runtime.ts';

/** The GPU type of a pool, and the data center it is in. */
interface PoolDescription {
  gpuTypeId: string;
  dataCenterId: string;
}

export type DescribePool = (pool: string) => PoolDescription;

/** Describes a simulated pool by the catalog: the pool's first GPU type, in the local data center. */
export const describePool: DescribePool = (pool) => ({
  gpuTypeId: gpuTypesOfPool(pool)[0]?.id ?? pool,
  dataCenterId: LOCAL_DATA_CENTER,
});

/** Returns what is free in each pool, given what workloads hold. Never below 0, even when a pool has shrunk. */
export function gpuCapacity(
  pools: ReadonlyMap<string, number>,
  held: Iterable<WorkloadSpec['gpu']>,
  describe: DescribePool,
): GpuCapacity[] {
  const used = new Map<string, number>();
  for (const gpu of held) if (gpu) used.set(gpu.pool, (used.get(gpu.pool) ?? 0) + gpu.count);
  return [...pools].map(([pool, total]) => ({
    pool,
    ...describe(pool),
    total,
    free: Math.max(0, total - (used.get(pool) ?? 0)),
  }));
}

/** Throws `NoCapacity` when too few GPUs are free. */
export function requireGpus(gpu: WorkloadSpec['gpu'], capacity: readonly GpuCapacity[]): void {
  if (gpu === null) return;
  const free = capacity.filter(({ pool }) => pool === gpu.pool).reduce((most, entry) => Math.max(most, entry.free), 0);
  if (free < gpu.count) {
    throw new NoCapacity(notEnoughGpus(gpu, free));
  }
}
/** The reason of a `NoCapacity`. */
export function notEnoughGpus(wanted: { pool: string; count: number }, free: number): string {
  return `Pool ${wanted.pool} has ${free} GPUs free, ${wanted.count} needed`;
}

/** The usage of simulated GPUs: none. */
export function idleGpus(gpu: WorkloadSpec['gpu']): WorkloadStats['gpus'] {
  return Array.from({ length: gpu?.count ?? 0 }, () => ({ util: 0, memoryUtil: 0 }));
}
