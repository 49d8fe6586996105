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
  /** The newest CUDA version that the driver supports; null when it does not say, and for AMD. */
  cudaVersion: string | null;
  /** How many workloads get it at once: 1, unless the operator shares GPUs (`--share-gpus`). */
  shares: number;
  /** Device files that a container needs besides what the engine adds. Empty for NVIDIA. */
  devicePaths: readonly string[];
}

/** A GPU that is there but does not answer. */
export interface FaultyGpu {
  /** Its UUID, or its address on the PCI bus, whichever is known. */
  uuid: string | null;
  busId: string | null;
  /** In the tool's words, without a period. */
  fault: string;
}

/**
 * A reading of a machine's GPUs. `absent`: it has none, as far as can be seen. `unreadable`: it has, or the engine says
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

export interface Detected {
  /** Where they were looked for last: where to look again. */
  source: GpuSource;
  reading: GpuReading;
}

/**
 * Looks for GPUs in each source in turn, up to the first that has some or fails. A failed source is not one without GPUs: a broken driver
 * must not give an operator simulated GPUs.
 */
export async function detectGpus(sources: readonly [GpuSource, ...GpuSource[]]): Promise<Detected> {
  let detected: Detected | undefined;
  for (const source of sources) {
    detected = { source, reading: await source.read() };
    if (detected.reading.state !== 'absent') return detected;
  }
  return detected!;
}

/** The sentence for an operator whose GPUs cannot be read. */
export function unreadableText({ problem, advice }: GpuReading & { state: 'unreadable' }): string {
  return `The GPUs cannot be read: ${problem}. ${advice}`;
}

/** Real GPUs stay idle while workers believe that they have one. */
export const SIMULATED_BESIDE_REAL =
  'WARNING: this machine has GPUs, but --simulate-gpus simulates others: no worker uses a real one. Set it to off';

export function sharingNotice(shares: number): string {
  return `Each GPU is given to ${shares} workers at once: shared, not isolated (--share-gpus)`;
}
