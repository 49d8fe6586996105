import { Failure } from '../core/errors.ts';
import { findCheckpointHindrance, resumeProcesses, suspendProcesses } from './cuda-checkpoint.ts';
import { readUsedGpuMemory } from './gpus/gpu-usage.ts';
import type { GpuSleep } from './runtime.ts';

/** The memory that a GPU without programs may have in use. */
const UNUSED_GPU_BYTES = 512 * 2 ** 20;

interface Deps {
  /** Returns the GPUs of live workloads by their UUIDs; none of them where GPUs are simulated. */
  devicesOf: () => Promise<ReadonlyMap<string, readonly string[]>>;
  /** Returns the processes of a workload, as this machine numbers them. */
  pidsOf: (id: string) => Promise<readonly number[]>;
  /** How many workloads may use a GPU at once. Absent: one. */
  sharesOf?: (uuid: string) => number;
  /** Null where GPUs are real. */
  simulated: string | null;
}

/** Which workloads of a machine have lent their GPUs to others while they sleep. */
export class GpuLending implements GpuSleep {
  readonly #deps: Deps;
  readonly #lenders = new Set<string>();
  #hindrance: Promise<string | null> | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** True while others may use the GPUs of this workload. */
  isLent(id: string): boolean {
    return this.#lenders.has(id);
  }

  /** Forgets a workload that is gone. */
  forget(id: string): void {
    this.#lenders.delete(id);
  }

  async release(id: string): Promise<void> {
    this.#lenders.add(id);
  }

  async claim(id: string): Promise<string[]> {
    const devices = await this.#deps.devicesOf();
    // From here on nothing waits, so a start that chooses GPUs sees this claim or was seen by it.
    const awake = [...devices].filter(([other]) => other !== id && !this.#lenders.has(other));
    const holders = new Set<string>();
    for (const uuid of devices.get(id) ?? []) {
      const having = awake.filter(([, uuids]) => uuids.includes(uuid));
      if (having.length >= (this.#deps.sharesOf?.(uuid) ?? 1)) for (const [other] of having) holders.add(other);
    }
    if (holders.size === 0) this.#lenders.delete(id);
    return [...holders];
  }

  checkpointHindrance(): Promise<string | null> {
    const { simulated } = this.#deps;
    this.#hindrance ??= simulated === null ? findCheckpointHindrance() : Promise.resolve(simulated);
    return this.#hindrance;
  }

  async gpuMemoryBytes(id: string): Promise<number> {
    const devices = await this.#deps.devicesOf();
    return readUsedGpuMemory(devices.get(id) ?? []);
  }

  async suspend(id: string): Promise<void> {
    if ((await suspendProcesses(await this.#deps.pidsOf(id))) > 0) return;
    // It uses no CUDA, or its processes cannot be seen from here.
    if ((await this.gpuMemoryBytes(id)) > UNUSED_GPU_BYTES) {
      throw new Failure(
        'unprocessable',
        'its GPU memory is in use, but by none of the processes that can be checkpointed',
      );
    }
  }

  async resume(id: string): Promise<void> {
    await resumeProcesses(await this.#deps.pidsOf(id));
  }
}

/** Why GPUs that do not exist hold no memory to move. */
export const NO_REAL_GPUS = 'the GPUs are simulated';
