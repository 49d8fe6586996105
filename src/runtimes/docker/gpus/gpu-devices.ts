import { LOCAL_DATA_CENTER } from '../../../domain/catalog/catalog.ts';
import type { GpuLending } from '../../gpu-lending.ts';
import { type DescribePool, gpuCapacity } from '../../gpu-pools.ts';
import { capacityOf, claimGpus } from '../../gpus/claim-gpus.ts';
import type { Gpu } from '../../gpus/gpu.ts';
import { GpuInventory } from '../../gpus/gpu-inventory.ts';
import { type GpuCapacity, NoCapacity, type Observed, type WorkloadSpec } from '../../runtime.ts';
import { gpuOf, LABELS } from '../containers/container-config.ts';
import type { ContainerSummary, Containers } from '../containers/containers.ts';

/**
 * The GPUs of this machine, or simulated ones, and which of them are in use. Holders are in the labels of containers, of all installations
 * on the engine, so they survive restarts of Podyard.
 */
export class GpuDevices {
  readonly #containers: Containers;
  /** Pool → number of simulated GPUs, or the real ones. */
  readonly #gpus: ReadonlyMap<string, number> | GpuInventory;
  readonly #describe: DescribePool;
  /** Knows which workloads sleep, so that their GPUs can be lent. */
  readonly #lending: Pick<GpuLending, 'isLent'>;
  /** By workload, from before the create request, so that two starts of this process never choose the same. */
  readonly #chosen = new Map<string, readonly string[]>();

  constructor(
    containers: Containers,
    gpus: ReadonlyMap<string, number> | GpuInventory,
    describe: DescribePool,
    lending: Pick<GpuLending, 'isLent'>,
  ) {
    this.#containers = containers;
    this.#gpus = gpus;
    this.#describe = describe;
    this.#lending = lending;
  }

  async capacity(): Promise<{ gpus: GpuCapacity[]; gpuProblem?: string }> {
    if (!(this.#gpus instanceof GpuInventory)) {
      const alive = await this.#containers.listAlive();
      const held = alive.flatMap(({ Labels }) => (this.#lending.isLent(Labels[LABELS.id]!) ? [] : [gpuOf(Labels)]));
      return { gpus: gpuCapacity(this.#gpus, held, this.#describe) };
    }
    await this.#gpus.ready();
    const holders = await this.#containers.listGpuHolders();
    const { own, others } = this.#held(holders);
    const gpus = capacityOf(this.#gpus.usable(), this.#awake(own), others.values(), LOCAL_DATA_CENTER);
    return { gpus, ...(this.#gpus.problem !== null && { gpuProblem: this.#gpus.problem }) };
  }

  /**
   * Reserves free real GPUs for the workload until `release`; none when GPUs are simulated, where the caller's own count is
   * enough. Throws `NoCapacity` when there are too few.
   */
  async choose({ id, gpu: wanted }: WorkloadSpec): Promise<readonly Gpu[]> {
    if (!wanted || !(this.#gpus instanceof GpuInventory)) return [];
    await this.#gpus.ready();
    const holders = await this.#containers.listGpuHolders();
    const usable = this.#gpus.usable();
    const before = this.#chosen.get(id);
    if (!before) {
      const { own, others } = this.#held(holders.filter(({ Labels }) => Labels[LABELS.id] !== id));
      this.#chosen.set(id, claimGpus(wanted, usable, [...this.#awake(own), ...others.values()]));
    }
    return this.#chosen.get(id)!.flatMap((uuid) => usable.find((gpu) => gpu.uuid === uuid) ?? []);
  }

  /**
   * Checks, once the container is created, that no other process gave its GPUs away at the same moment, as a leader does
   * that is being replaced. Of two containers with the same GPU the younger one gives way: throws `NoCapacity`.
   */
  async confirm(id: string, gpus: readonly Gpu[]): Promise<void> {
    if (gpus.length === 0) return;
    const holders = (await this.#containers.listGpuHolders()).sort(
      (a, b) => a.Created - b.Created || (a.Id < b.Id ? -1 : 1),
    );
    for (const { uuid, shares } of gpus) {
      const having = holders.filter((container) => devicesOf(container).includes(uuid) && !this.#isLent(container));
      const at = having.findIndex(
        (container) => this.#containers.isOwn(container) && container.Labels[LABELS.id] === id,
      );
      if (at >= shares) throw new NoCapacity(`GPU ${uuid} was given to another workload at the same moment`);
    }
  }

  /** Returns the real GPUs of each workload, of those that sleep too. */
  async devicesOf(): Promise<Map<string, readonly string[]>> {
    return this.#held(await this.#containers.listGpuHolders()).own;
  }

  /** How many workloads may use this GPU at once. */
  sharesOf(uuid: string): number {
    if (!(this.#gpus instanceof GpuInventory)) return 1;
    return this.#gpus.usable().find((gpu) => gpu.uuid === uuid)?.shares ?? 1;
  }

  release(id: string): void {
    this.#chosen.delete(id);
  }

  /** A start with these GPUs failed: they may be the reason. */
  suspect(gpus: readonly Gpu[]): void {
    if (gpus.length > 0 && this.#gpus instanceof GpuInventory) this.#gpus.expire();
  }

  /** Adds to each workload why it must be replaced, if its GPU is lost. */
  async withLosses(observed: Observed[]): Promise<Observed[]> {
    if (!(this.#gpus instanceof GpuInventory)) return observed;
    this.#gpus.refresh();
    if (!this.#gpus.hasLosses) return observed;
    const { own } = this.#held(await this.#containers.listGpuHolders());
    const inventory = this.#gpus;
    return observed.map((one) => {
      const [loss] = (own.get(one.id) ?? []).flatMap((uuid) => inventory.lossOf(uuid) ?? []);
      return loss === undefined ? one : { ...one, loss };
    });
  }

  #isLent(container: ContainerSummary): boolean {
    return this.#containers.isOwn(container) && this.#lending.isLent(container.Labels[LABELS.id]!);
  }

  /** Returns the GPUs of workloads that are not asleep. */
  #awake(own: ReadonlyMap<string, readonly string[]>): (readonly string[])[] {
    return [...own].flatMap(([id, uuids]) => (this.#lending.isLent(id) ? [] : [uuids]));
  }

  /** By workload: what containers have, and what is chosen for containers to come. */
  #held(holders: readonly ContainerSummary[]): {
    own: Map<string, readonly string[]>;
    others: Map<string, readonly string[]>;
  } {
    const own = new Map(this.#chosen);
    const others = new Map<string, readonly string[]>();
    for (const container of holders) {
      if (this.#containers.isOwn(container)) own.set(container.Labels[LABELS.id] ?? '', devicesOf(container));
      else others.set(container.Id, devicesOf(container));
    }
    return { own, others };
  }
}

function devicesOf({ Labels }: ContainerSummary): string[] {
  return Labels[LABELS.gpuDevices]?.split(',').filter(Boolean) ?? [];
}
