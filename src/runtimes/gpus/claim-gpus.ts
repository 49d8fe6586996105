import { notEnoughGpus } from '../gpu-pools.ts';
import { type GpuCapacity, NoCapacity, type WantedGpus } from '../runtime.ts';
import type { Gpu } from './gpu.ts';

/** The GPUs of each holder, by UUID. */
export type HeldGpus = Iterable<readonly string[]>;

/**
 * Chooses the GPUs for a workload out of the free ones, and shared ones with shares left, and never two shares of the same GPU for one
 * workload. Throws `NoCapacity` when there are too few.
 */
export function claimGpus(wanted: WantedGpus, gpus: readonly Gpu[], held: HeldGpus): string[] {
  const uses = countUses(held);
  const left = (gpu: Gpu) => gpu.shares - (uses.get(gpu.uuid) ?? 0);
  const free = gpus.filter((gpu) => isWanted(wanted, gpu) && left(gpu) > 0);
  if (free.length < wanted.count) throw new NoCapacity(notEnoughGpus(wanted, free.length));
  return free
    .sort((a, b) => left(b) - left(a)) // the least shared one first
    .slice(0, wanted.count)
    .map(({ uuid }) => uuid);
}

function isWanted({ pool, gpuTypeId }: WantedGpus, gpu: Gpu): boolean {
  return gpu.pool === pool && (gpuTypeId === undefined || gpu.gpuTypeId === gpuTypeId);
}

/**
 * Total and free GPUs by pool, type and CUDA version. A shared GPU is an entry of its own, because its shares
 * are not several GPUs. `own`: held by workloads of this installation; GPUs that others hold do not count at all.
 */
export function capacityOf(gpus: readonly Gpu[], own: HeldGpus, others: HeldGpus, dataCenterId: string): GpuCapacity[] {
  const [ours, theirs] = [countUses(own), countUses(others)];
  const groups = Map.groupBy(gpus, (gpu) =>
    JSON.stringify([gpu.pool, gpu.gpuTypeId, gpu.cudaVersion, gpu.shares > 1 ? gpu.uuid : '']),
  );
  return [...groups.values()].map((group) => {
    const { pool, gpuTypeId, cudaVersion, memoryMib } = group[0]!;
    const total = sum(group, (gpu) => Math.max(0, gpu.shares - (theirs.get(gpu.uuid) ?? 0)));
    const taken = sum(group, (gpu) => ours.get(gpu.uuid) ?? 0);
    const cuda = cudaVersion === null ? {} : { cudaVersion };
    const memoryGb = Math.round(memoryMib / 1024);
    return { pool, gpuTypeId, dataCenterId, total, free: Math.max(0, total - taken), memoryGb, ...cuda };
  });
}

function countUses(held: HeldGpus): Map<string, number> {
  const uses = new Map<string, number>();
  for (const uuids of held) for (const uuid of uuids) uses.set(uuid, (uses.get(uuid) ?? 0) + 1);
  return uses;
}

function sum(gpus: readonly Gpu[], amount: (gpu: Gpu) => number): number {
  return gpus.reduce((total, gpu) => total + amount(gpu), 0);
}
