/** Subtracts GPUs in use from those there are. */

/** GPUs that workloads were given. The type is unknown for those of a simulation and for rows of older versions. */
export interface GpusInUse {
  pool: string | null;
  gpuTypeId?: string | null;
  dataCenterId: string | null;
  count: number;
}

interface GpuEntry {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
}

/**
 * Returns the entries with what is free of each. What is in use is subtracted from entries of its type first; the rest, from
 * any entry of its pool, in their order. Never below 0.
 */
export function subtractInUse<T extends GpuEntry>(
  entries: readonly T[],
  used: Iterable<GpusInUse>,
): (T & { free: number })[] {
  const left = [...used].map((one) => ({ ...one }));
  const result = entries.map((entry) => ({ ...entry, free: entry.total }));
  for (const isSameType of [true, false]) {
    for (const entry of result) {
      for (const one of left) {
        if (entry.free === 0) break;
        if (one.count <= 0 || one.pool !== entry.pool || one.dataCenterId !== entry.dataCenterId) continue;
        if (isSameType && one.gpuTypeId !== entry.gpuTypeId) continue;
        const taken = Math.min(entry.free, one.count);
        entry.free -= taken;
        one.count -= taken;
      }
    }
  }
  return result;
}
