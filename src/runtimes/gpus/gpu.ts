/** A GPU of a machine, or a MIG slice of one: what a workload is given as a whole. */
export interface Gpu {
  /** How driver and engine address it: `GPU-…` or `MIG-…`. Never an index, which changes when another GPU is lost. */
  uuid: string;
  /** Its address on the PCI bus, or that of the GPU it is a slice of: `0000:3b:00.0`. */
  busId: string;
  gpuTypeId: string;
  pool: string;
  vendor: 'NVIDIA' | 'AMD';
  memoryMib: number;
  /** What the driver supports; null when it does not say, and for AMD. */
  cudaVersion: string | null;
  /** How many workloads get it at once: 1, unless the operator shares GPUs (`--share-gpus`). */
  shares: number;
  /** Device files that a container needs besides what the engine adds. Empty for NVIDIA. */
  devicePaths: readonly string[];
}

/** A GPU that is there but does not answer. */
export interface FaultyGpu {
  /** What is known of it: its UUID, or its address on the PCI bus. */
  uuid: string | null;
  busId: string | null;
  /** In the tool's words, without a period. */
  fault: string;
}

/**
 * What was read of a machine's GPUs. `absent`: it has none, as far as can be seen. `unreadable`: it has, or the engine says
 * so, but their state is unknown.
 */
export type GpuReading =
  | {
      state: 'read';
      gpus: readonly Gpu[];
      faulty: readonly FaultyGpu[];
      /** A faulty GPU hid others: one that is not named may be fine. */
      isPartial?: true;
    }
  | { state: 'absent' }
  | { state: 'unreadable'; problem: string; advice: string };

/** Reads the GPUs of one machine. Never throws. */
export interface GpuSource {
  /** Where it reads: `nvidia-smi on this machine`. */
  readonly name: string;
  read(): Promise<GpuReading>;
}
