import { LOCAL_DATA_CENTER } from '../../domain/catalog/catalog.ts';
import type { GpuLending } from '../gpu-lending.ts';
import { type DescribePool, gpuCapacity, requireGpus } from '../gpu-pools.ts';
import { capacityOf, claimGpus } from '../gpus/claim-gpus.ts';
import type { Gpu } from '../gpus/gpu.ts';
import { GpuInventory } from '../gpus/gpu-inventory.ts';
import type { Capacity, WorkloadSpec } from '../runtime.ts';
import type { Workload, WorkloadFolders } from './workload-folders.ts';

/** The GPUs of this machine, or simulated ones. The folders of the workloads say which of them are in use. */
export class ProcessGpus {
  readonly #folders: WorkloadFolders;
  readonly #gpus: ReadonlyMap<string, number> | GpuInventory;
  readonly #describe: DescribePool;
  /** Knows which workloads sleep, so that their GPUs can be lent. */
  readonly #lending: Pick<GpuLending, 'isLent'>;

  constructor(
    folders: WorkloadFolders,
    gpus: ReadonlyMap<string, number> | GpuInventory,
    describe: DescribePool,
    lending: Pick<GpuLending, 'isLent'>,
  ) {
    this.#folders = folders;
    this.#gpus = gpus;
    this.#describe = describe;
    this.#lending = lending;
  }

  async ready(): Promise<void> {
    if (this.#gpus instanceof GpuInventory) await this.#gpus.ready();
  }

  refresh(): void {
    if (this.#gpus instanceof GpuInventory) this.#gpus.refresh();
  }

  async capacity(): Promise<Pick<Capacity, 'gpus' | 'gpuProblem'>> {
    if (!(this.#gpus instanceof GpuInventory)) return { gpus: this.#simulated(this.#gpus) };
    await this.#gpus.ready();
    const held = this.#awake().map(({ gpuDevices }) => gpuDevices);
    const gpus = capacityOf(this.#gpus.usable(), held, [], LOCAL_DATA_CENTER);
    return { gpus, ...(this.#gpus.problem !== null && { gpuProblem: this.#gpus.problem }) };
  }

  /** Chooses real GPUs for a workload; none where GPUs are simulated. Throws `NoCapacity` when there are too few. */
  claim(wanted: WorkloadSpec['gpu']): Gpu[] {
    if (wanted === null) return [];
    if (!(this.#gpus instanceof GpuInventory)) {
      requireGpus(wanted, this.#simulated(this.#gpus));
      return [];
    }
    const usable = this.#gpus.usable();
    const held = this.#awake().map(({ gpuDevices }) => gpuDevices);
    const claimed = new Set(claimGpus(wanted, usable, held));
    return usable.filter(({ uuid }) => claimed.has(uuid));
  }

  /** Which GPUs a workload sees; nothing where they are simulated, as the machine has none. */
  environment(gpus: readonly Gpu[]): Record<string, string> {
    return this.#gpus instanceof GpuInventory ? gpuEnvironment(gpus) : {};
  }

  /** Returns the real GPUs of each workload, of those that sleep too. */
  devicesOf(): Map<string, readonly string[]> {
    return new Map(this.#alive().map(({ id, gpuDevices }) => [id, gpuDevices]));
  }

  /** How many workloads may use this GPU at once. */
  sharesOf(uuid: string): number {
    if (!(this.#gpus instanceof GpuInventory)) return 1;
    return this.#gpus.usable().find((gpu) => gpu.uuid === uuid)?.shares ?? 1;
  }

  /** A start with these GPUs failed: they may be the reason. */
  suspect(gpus: readonly Gpu[]): void {
    if (gpus.length > 0 && this.#gpus instanceof GpuInventory) this.#gpus.expire();
  }

  /** Why a running workload must be replaced, if its GPU is lost. */
  lossOf({ gpuDevices }: Workload): { loss: string } | undefined {
    if (!(this.#gpus instanceof GpuInventory) || !this.#gpus.hasLosses) return undefined;
    const inventory = this.#gpus;
    const [loss] = gpuDevices.flatMap((uuid) => inventory.lossOf(uuid) ?? []);
    return loss === undefined ? undefined : { loss };
  }

  #simulated(pools: ReadonlyMap<string, number>) {
    return gpuCapacity(
      pools,
      this.#awake().map(({ gpu }) => gpu),
      this.#describe,
    );
  }

  #awake(): Workload[] {
    return this.#alive().filter(({ id }) => !this.#lending.isLent(id));
  }

  #alive(): Workload[] {
    return this.#folders.ids().flatMap((id) => (this.#folders.isOver(id) ? [] : (this.#folders.find(id) ?? [])));
  }
}

/**
 * Which GPUs the programs of a process see: those with these UUIDs and no others, none without any. CUDA takes UUIDs, of
 * slices too. ROCm takes UUIDs in the outer variable, and numbers what it leaves from 0 for the inner one.
 */
function gpuEnvironment(gpus: readonly Pick<Gpu, 'uuid' | 'vendor'>[]): Record<string, string> {
  const uuidsOf = (vendor: Gpu['vendor']) => gpus.filter((gpu) => gpu.vendor === vendor).map(({ uuid }) => uuid);
  const amd = uuidsOf('AMD');
  return {
    CUDA_VISIBLE_DEVICES: uuidsOf('NVIDIA').join(','),
    ROCR_VISIBLE_DEVICES: amd.join(','),
    HIP_VISIBLE_DEVICES: amd.map((_, i) => i).join(','),
  };
}
