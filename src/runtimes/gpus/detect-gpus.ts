import type { GpuReading, GpuSource } from './gpu.ts';

export interface Detected {
  /** Where they were looked for last: where to look again. */
  source: GpuSource;
  reading: GpuReading;
}

/**
 * Looks for GPUs in each place in turn, and stops at the first that has some or cannot tell. A place that cannot tell is no
 * place without GPUs: an operator who has GPUs must not get simulated ones because a driver is broken.
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
