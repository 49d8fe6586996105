import { type DescribePool, gpuCapacity } from '../gpu-pools.ts';
import { type GpuCapacity, NoCapacity, type WorkloadSpec } from '../runtime.ts';
import { gpuOf, LABELS } from './container-config.ts';
import type { Containers } from './containers.ts';
import { type Gpu, listNvidiaGpus } from './nvidia-gpus.ts';

/** The GPUs of this machine, or simulated ones, and which of them workloads hold. */
export class GpuDevices {
  readonly #containers: Containers;
  /** Pool → number of GPUs; null for the real ones. */
  readonly #simulated: ReadonlyMap<string, number> | null;
  readonly #describe: DescribePool;
  /** Real GPUs by workload, kept from before the create request, so that two starts never choose the same. */
  readonly #chosen = new Map<string, readonly string[]>();
  #real: Promise<Gpu[]> | undefined;

  constructor(containers: Containers, simulated: ReadonlyMap<string, number> | null, describe: DescribePool) {
    this.#containers = containers;
    this.#simulated = simulated;
    this.#describe = describe;
  }

  async capacity(): Promise<GpuCapacity[]> {
    const [{ pools, describe }, alive] = await Promise.all([this.#pools(), this.#containers.listAlive()]);
    const held = alive.map(({ Labels }) => gpuOf(Labels));
    return gpuCapacity(pools, held, describe);
  }

  /**
   * UUIDs of real GPUs that nobody holds, which are the workload's until `release`; none when GPUs are simulated, for then
   * the caller's own count is enough. Throws `unavailable` when there are too few.
   */
  async choose({ id, gpu: wanted }: WorkloadSpec): Promise<readonly string[]> {
    if (!wanted || this.#simulated) return [];
    const [gpus, alive] = await Promise.all([this.#list(), this.#containers.listAlive()]);
    const own = this.#chosen.get(id);
    if (own) return own;
    const labelled = alive.flatMap(({ Labels }) => Labels[LABELS.gpuDevices]?.split(',') ?? []);
    const held = new Set([...labelled, ...[...this.#chosen.values()].flat()]);
    const free = gpus.filter(({ pool, uuid }) => pool === wanted.pool && !held.has(uuid)).map(({ uuid }) => uuid);
    if (free.length < wanted.count) {
      throw new NoCapacity(`Pool ${wanted.pool} has ${free.length} GPUs free, but ${wanted.count} are needed together`);
    }
    const chosen = free.slice(0, wanted.count);
    this.#chosen.set(id, chosen);
    return chosen;
  }

  release(id: string): void {
    this.#chosen.delete(id);
  }

  async #pools(): Promise<{ pools: ReadonlyMap<string, number>; describe: DescribePool }> {
    const describe = this.#describe;
    if (this.#simulated) return { pools: this.#simulated, describe };
    const byPool = Map.groupBy(await this.#list(), ({ pool }) => pool);
    return {
      pools: new Map([...byPool].map(([pool, gpus]) => [pool, gpus.length])),
      describe: (pool) => ({ ...describe(pool), gpuTypeId: byPool.get(pool)?.[0]?.gpuTypeId ?? pool }),
    };
  }

  #list(): Promise<Gpu[]> {
    this.#real ??= listNvidiaGpus();
    return this.#real;
  }
}
