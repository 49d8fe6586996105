import { findGpuType, gpuTypesOfPool, LOCAL_DATA_CENTER } from '../domain/catalog/catalog.ts';
import { type GpuCapacity, NoCapacity, type WorkloadSpec, type WorkloadStats } from './runtime.ts';

/** What a pool's GPUs are called and where they stand; the catalogue knows more. */
export interface PoolDescription {
  gpuTypeId: string;
  dataCenterId: string;
}

export type DescribePool = (pool: string) => PoolDescription;

/** From the catalogue; the first type of a pool stands for a simulated one. */
export const describePool: DescribePool = (pool) => ({
  gpuTypeId: gpuTypesOfPool(pool)[0]?.id ?? pool,
  dataCenterId: LOCAL_DATA_CENTER,
});

/** The pool of a GPU that `nvidia-smi` names. A GPU that no pool knows is a pool of its own, under its own name. */
export function poolOf(gpuTypeId: string): string {
  return findGpuType(gpuTypeId)?.pool ?? gpuTypeId;
}

/** What is free of each pool, given what the workloads hold. Never below 0, also when a pool was made smaller. */
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

/** Throws `NoCapacity` when the GPUs that are asked for are not free. */
export function requireGpus(gpu: WorkloadSpec['gpu'], capacity: readonly GpuCapacity[]): void {
  if (gpu === null) return;
  const free = capacity.filter(({ pool }) => pool === gpu.pool).reduce((most, entry) => Math.max(most, entry.free), 0);
  if (free < gpu.count) {
    throw new NoCapacity(`Pool ${gpu.pool} has ${free} GPUs free, but ${gpu.count} are needed together`);
  }
}

/** What simulated GPUs do: nothing. */
export function idleGpus(gpu: WorkloadSpec['gpu']): WorkloadStats['gpus'] {
  return Array.from({ length: gpu?.count ?? 0 }, () => ({ util: 0, memoryUtil: 0 }));
}
