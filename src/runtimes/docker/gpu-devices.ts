import type { GpuLending } from '../gpu-lending.ts';
import { type DescribePool, gpuCapacity, notEnoughGpus } from '../gpu-pools.ts';
import { type GpuCapacity, NoCapacity, type WorkloadSpec } from '../runtime.ts';
import { gpuOf, LABELS } from './container-config.ts';
import type { ContainerSummary, Containers } from './containers.ts';
import { type Gpu, listNvidiaGpus } from './nvidia-gpus.ts';

/** The GPUs of this machine, or simulated ones, and which of them are in use. */
export class GpuDevices {
  readonly #containers: Containers;
  /** Pool → number of GPUs; null for real ones. */
  readonly #simulated: ReadonlyMap<string, number> | null;
  readonly #describe: DescribePool;
  /** Tells which workloads sleep, so that others may have their GPUs. */
  readonly #lending: Pick<GpuLending, 'isLent'>;
  /** Real GPUs by workload, from before the create request, so that two starts never choose the same. */
  readonly #chosen = new Map<string, readonly string[]>();
  #real: Promise<Gpu[]> | undefined;

  constructor(
    containers: Containers,
    simulated: ReadonlyMap<string, number> | null,
    describe: DescribePool,
    lending: Pick<GpuLending, 'isLent'>,
  ) {
    this.#containers = containers;
    this.#simulated = simulated;
    this.#describe = describe;
    this.#lending = lending;
  }

  async capacity(): Promise<GpuCapacity[]> {
    const [{ pools, describe }, alive] = await Promise.all([this.#pools(), this.#containers.listAlive()]);
    const held = alive.flatMap(({ Labels }) => (this.#lending.isLent(Labels[LABELS.id]!) ? [] : [gpuOf(Labels)]));
    return gpuCapacity(pools, held, describe);
  }

  /**
   * Reserves free real GPUs for the workload until `release`, and returns their UUIDs; none when GPUs are simulated, where
   * the caller's own count is enough. Throws `NoCapacity` when there are too few.
   */
  async choose({ id, gpu: wanted }: WorkloadSpec): Promise<readonly string[]> {
    if (!wanted || this.#simulated) return [];
    const [gpus, alive] = await Promise.all([this.#list(), this.#containers.listAlive()]);
    const own = this.#chosen.get(id);
    if (own) return own;
    const held = new Set(
      [...this.#byWorkload(alive)].flatMap(([each, uuids]) => (this.#lending.isLent(each) ? [] : uuids)),
    );
    const free = gpus.filter(({ pool, uuid }) => pool === wanted.pool && !held.has(uuid)).map(({ uuid }) => uuid);
    if (free.length < wanted.count) throw new NoCapacity(notEnoughGpus(wanted, free.length));
    const chosen = free.slice(0, wanted.count);
    this.#chosen.set(id, chosen);
    return chosen;
  }

  /** Returns the real GPUs of each workload, of those that sleep too. */
  async devicesOf(): Promise<Map<string, readonly string[]>> {
    return this.#byWorkload(await this.#containers.listAlive());
  }

  #byWorkload(alive: readonly ContainerSummary[]): Map<string, readonly string[]> {
    const labelled = alive.map(
      ({ Labels }) => [Labels[LABELS.id]!, Labels[LABELS.gpuDevices]?.split(',') ?? []] as const,
    );
    return new Map([...labelled, ...this.#chosen]);
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
